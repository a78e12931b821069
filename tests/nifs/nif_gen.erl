%% Sequences of calls of the NIF interface, by seed: operations for the library `nif_ops`, of which the numbers and operands are here.
%%
%% A sequence is a list of calls, each a list of operations. What the places of the library hold after each is followed, so that a valid
%% sequence only uses what it may; one of misuse ends with an operation that may not be, and its finding.
-module(nif_gen).
-export([valid/1, misuse/1, kinds/0, encode/1]).

-define(PLACES, 16).
%% Environments beside that of the call; few, so that terms meet.
-define(OWN, [1, 2, 3]).
-define(FEW, [0, 1, 2, 3]).

%% What is held: terms by place, each with its environment; environments of the library's own; binaries, which own bytes or show those of an
%% environment; objects, with how often they are held; queues; iterators, each with the environment of its map.
-record(s, {operations, terms = #{}, envs = [], binaries = #{}, objects = #{}, queues = [], iterators = #{}}).

operations() ->
    [argument, make_int, make_long, make_ulong, make_double, make_atom, make_string, make_tuple, make_cell, make_list,
     make_copy, make_map, map_put, map_update, map_remove, map_of_arrays, map_value, element, cell, reverse,
     compare, identical, hash, kind, lengths, texts, print, report, garbage, alloc_binary,
     realloc_binary, release_binary, copy_binary, make_binary, inspect, sub_binary, new_binary, to_external, from_external, alloc_object,
     keep_object, release_object, no_object, make_object, object_binary, get_object, alloc_env, free_env, clear_env, send,
     in_earlier, in_thread, create_queue, destroy_queue, enqueue, dequeue, peek, create_iterator, next_pair, destroy_iterator].

encode(Call) ->
    Numbers = maps:from_list(lists:zip(operations(), lists:seq(0, length(operations()) - 1))),
    << <<(case Op of return -> 255; _ -> map_get(Op, Numbers) end), E, A, B, C>> || {Op, E, A, B, C} <- Call >>.

%% ---- valid sequences

valid(Seed) ->
    rand:seed(exsss, Seed),
    {Calls, S} = calls(rand:uniform(4), empty()),
    Calls ++ [cleaned(S)].

%% What references look like is another thing in each run, and so is their order.
empty() -> #s{operations = operations() -- one([[make_object], [hash, print, to_external, compare, create_iterator]])}.

calls(0, S) -> {[], S};
calls(N, S) ->
    {Call, Next} = operations(rand:uniform(40), S),
    {Calls, Last} = calls(N - 1, ended(Next)),
    {[Call | Calls], Last}.

operations(0, S) -> {[], S};
operations(N, S) ->
    case draw(S) of
        none -> operations(N, S);
        {Op, Next} ->
            {Ops, Last} = operations(N - 1, Next),
            {lists:flatten([Op | Ops]), Last}
    end.

%% The call is over: what was in its environment has gone.
ended(S) -> without(0, S).

without(E, S) ->
    Others = fun(_, V) -> V =/= E end,
    S#s{terms = maps:filter(Others, S#s.terms), binaries = maps:filter(fun(_, V) -> V =/= {shown, E} end, S#s.binaries),
        iterators = maps:filter(Others, S#s.iterators)}.

%% All that lasts is given back.
cleaned(S) ->
    [{release_binary, 0, B, 0, 0} || {B, owned} <- maps:to_list(S#s.binaries)] ++
    [{release_object, 0, O, 0, 0} || {O, N} <- maps:to_list(S#s.objects), _ <- lists:seq(1, N)] ++
    [{destroy_queue, 0, Q, 0, 0} || Q <- S#s.queues] ++
    [{destroy_iterator, E, I, 0, 0} || {I, E} <- maps:to_list(S#s.iterators)] ++
    [{free_env, E, 0, 0, 0} || E <- S#s.envs].

%% One operation, and what is held then; none if what it takes is not there.
draw(S) ->
    E = one([0, 0 | S#s.envs]),
    A = any(),
    Here = [T || {T, Env} <- maps:to_list(S#s.terms), Env =:= E],
    All = maps:keys(S#s.terms),
    Made = fun(Op, B, C) -> {{Op, E, A, B, C}, term(A, E, S)} end,
    Told = fun(Op, X, Y) -> {{Op, E, X, Y, 0}, S} end,
    case one(S#s.operations) of
        argument -> {{argument, 0, A, rand:uniform(12) - 1, 0}, term(A, 0, S)};
        Op when Op =:= make_int; Op =:= make_long; Op =:= make_ulong; Op =:= make_double; Op =:= make_atom; Op =:= make_string; Op =:= new_binary ->
            Made(Op, byte(), byte());
        make_map -> Made(make_map, 0, 0);
        Op when Op =:= map_put; Op =:= map_update -> on(Here, fun() -> {{Op, E, one(Here), one(Here), one(Here)}, S} end);
        Op when Op =:= make_tuple; Op =:= make_cell; Op =:= make_list; Op =:= map_remove; Op =:= map_of_arrays; Op =:= map_value ->
            on(Here, fun() -> Made(Op, one(Here), one(Here)) end);
        Op when Op =:= element; Op =:= sub_binary -> on(Here, fun() -> Made(Op, one(Here), byte()) end);
        reverse -> on(Here, fun() -> Made(reverse, one(Here), 0) end);
        cell -> on(Here, fun() -> B = any(), {{cell, E, A, B, one(Here)}, term(B, E, term(A, E, S))} end);
        make_copy -> on(All, fun() -> Made(make_copy, one(All), 0) end);
        Op when Op =:= compare; Op =:= identical -> on(All, fun() -> Told(Op, one(All), one(All)) end);
        Op when Op =:= hash; Op =:= print; Op =:= report -> on(All, fun() -> Told(Op, one(All), 0) end);
        Op when Op =:= kind; Op =:= lengths; Op =:= texts -> on(Here, fun() -> Told(Op, one(Here), 0) end);
        alloc_binary -> free(few(), S#s.binaries, fun(B) -> {{alloc_binary, 0, B, byte(), byte()}, binary(B, owned, S)} end);
        realloc_binary -> held(S#s.binaries, fun(B, How) -> How =:= owned andalso {{realloc_binary, 0, B, byte(), byte()}, S} end);
        release_binary -> held(S#s.binaries, fun(B, How) -> How =:= owned andalso {{release_binary, 0, B, 0, 0}, no_binary(B, S)} end);
        make_binary -> held(S#s.binaries, fun(B, How) -> How =:= owned andalso {{make_binary, E, B, A, 0}, binary(B, {shown, E}, term(A, E, S))} end);
        inspect -> on(Here, fun() -> free(few(), S#s.binaries, fun(B) -> {{inspect, E, B, one([T || T <- Here]), byte()}, S} end) end);
        to_external -> on(Here, fun() -> free(few(), S#s.binaries, fun(B) -> {{to_external, E, B, one(Here), 0}, binary(B, owned, S)} end) end);
        from_external -> held(S#s.binaries, fun(B, _) -> Made(from_external, B, 0) end);
        alloc_object -> free(few(), S#s.objects, fun(O) -> {{alloc_object, 0, O, byte(), byte()}, object(O, 1, S)} end);
        keep_object -> held(S#s.objects, fun(O, N) -> {{keep_object, 0, O, 0, 0}, object(O, N + 1, S)} end);
        release_object -> held(S#s.objects, fun(O, N) -> {{release_object, 0, O, 0, 0}, object(O, N - 1, S)} end);
        Op when Op =:= make_object; Op =:= object_binary -> held(S#s.objects, fun(O, _) -> {{Op, E, O, A, 0}, term(A, E, S)} end);
        get_object -> on(Here, fun() -> Told(get_object, one(Here), 0) end);
        alloc_env -> case ?OWN -- S#s.envs of [] -> none; [Own | _] -> {{alloc_env, Own, 0, 0, 0}, S#s{envs = [Own | S#s.envs]}} end;
        free_env when E > 0 -> {{free_env, E, 0, 0, 0}, without(E, S#s{envs = S#s.envs -- [E]})};
        clear_env when E > 0 -> {{clear_env, E, 0, 0, 0}, without(E, S)};
        send when E > 0 -> on(Here, fun() -> {[{send, E, one(Here), 0, 0}, {clear_env, E, 0, 0, 0}], without(E, S)} end);
        send -> on(Here, fun() -> Told(send, one(Here), 0) end);
        create_queue -> case ?FEW -- S#s.queues of [] -> none; [Q | _] -> {{create_queue, 0, Q, 0, 0}, S#s{queues = [Q | S#s.queues]}} end;
        destroy_queue -> on(S#s.queues, fun() -> Q = one(S#s.queues), {{destroy_queue, 0, Q, 0, 0}, S#s{queues = S#s.queues -- [Q]}} end);
        enqueue -> on(S#s.queues, fun() -> held(S#s.binaries, fun(B, How) -> How =:= owned andalso {{enqueue, 0, one(S#s.queues), B, byte()}, no_binary(B, S)} end) end);
        dequeue -> on(S#s.queues, fun() -> {{dequeue, 0, one(S#s.queues), byte(), 0}, S} end);
        peek -> on(S#s.queues, fun() -> {{peek, E, one(S#s.queues), A, 0}, term(A, E, S)} end);
        create_iterator -> on(Here, fun() -> free(few(), S#s.iterators, fun(I) -> {{create_iterator, E, I, one(Here), 0}, S#s{iterators = (S#s.iterators)#{I => E}}} end) end);
        next_pair -> held(S#s.iterators, fun(I, Env) -> B = any(), {{next_pair, Env, I, A, B}, term(B, Env, term(A, Env, S))} end);
        destroy_iterator -> held(S#s.iterators, fun(I, Env) -> {{destroy_iterator, Env, I, 0, 0}, S#s{iterators = maps:remove(I, S#s.iterators)}} end);
        _ -> none
    end.

on([], _) -> none;
on(_, Draw) -> Draw().

held(Map, _) when map_size(Map) =:= 0 -> none;
held(Map, Draw) ->
    {Key, Value} = one(maps:to_list(Map)),
    case Draw(Key, Value) of false -> none; Drawn -> Drawn end.

free(Place, Map, Draw) -> case Map of #{Place := _} -> none; _ -> Draw(Place) end.

term(A, E, S) -> S#s{terms = (S#s.terms)#{A => E}}.
binary(B, How, S) -> S#s{binaries = (S#s.binaries)#{B => How}}.
no_binary(B, S) -> S#s{binaries = maps:remove(B, S#s.binaries)}.
object(O, 0, S) -> S#s{objects = maps:remove(O, S#s.objects)};
object(O, N, S) -> S#s{objects = (S#s.objects)#{O => N}}.

one(List) -> lists:nth(rand:uniform(length(List)), List).
any() -> rand:uniform(?PLACES) - 1.
few() -> one(?FEW).
byte() -> rand:uniform(256) - 1.

%% ---- misuse

%% A sequence that begins as a valid one does, and ends with the misuse of the seed's kind: with what it is to be called.
misuse(Seed) ->
    rand:seed(exsss, Seed),
    {Before, S} = calls(rand:uniform(3) - 1, empty()),
    {Some, _} = operations(rand:uniform(20), S),
    {_, [First | Rest], Function, What} = lists:nth(Seed rem length(kinds()) + 1, kinds()),
    Envs = [{alloc_env, 14, 0, 0, 0}, {alloc_env, 15, 0, 0, 0}],
    {Before ++ [Some ++ Envs ++ First | Rest], Function, What}.

-define(OTHER, "a term of another environment").
-define(OVER, "a term of a call that has ended, or of an environment that has been cleared, freed or sent").
-define(BYTES, "a binary that has been released, or is of a call or environment that is over").
-define(TUPLE, "enif_make_tuple_from_array").

%% Name, calls (the first one with what it needs), and the function and the words of the finding. Environments 14 and 15 are there.
kinds() ->
    T = {make_string, 14, 14, 1, 2}, Call = {make_string, 0, 13, 1, 2}, Bin = {alloc_binary, 0, 15, 100, 1}, Object = {alloc_object, 0, 15, 100, 1},
    Queue = {create_queue, 0, 15, 0, 0}, Map = {make_map, 0, 12, 0, 0}, Iterator = {create_iterator, 0, 15, 12, 0},
    [{other_own, [[T, {make_tuple, 15, 0, 14, 14}]], ?TUPLE, ?OTHER},
     {own_in_call, [[T, {make_cell, 0, 0, 14, 14}]], "enif_make_list_cell", ?OTHER},
     {call_in_own, [[Call, {make_list, 14, 0, 13, 13}]], "enif_make_list_from_array", ?OTHER},
     {read_in_other, [[T, {cell, 15, 0, 1, 14}]], "enif_get_list_cell", ?OTHER},
     {returned, [[T, {return, 0, 14, 0, 0}]], "its return", ?OTHER},
     {message_of_other, [[T, {send, 15, 14, 0, 0}]], "enif_send", "a term of another environment than the message's"},
     {earlier_compared, [[Call], [{compare, 0, 13, 13, 0}]], "enif_compare", ?OVER},
     {earlier_read, [[Call], [{lengths, 0, 13, 0, 0}]], "enif_get_list_length", ?OVER},
     {earlier_copied, [[Call], [{make_copy, 14, 0, 13, 0}]], "enif_make_copy", ?OVER},
     {earlier_returned, [[Call], [{return, 0, 13, 0, 0}]], "its return", ?OVER},
     {earlier_printed, [[Call], [{print, 0, 13, 0, 0}]], "enif_snprintf", ?OVER},
     {cleared, [[T, {clear_env, 14, 0, 0, 0}, {hash, 0, 14, 0, 0}]], "enif_hash", ?OVER},
     {freed, [[T, {free_env, 14, 0, 0, 0}, {identical, 0, 14, 14, 0}]], "enif_is_identical", ?OVER},
     {sent, [[T, {send, 14, 14, 0, 0}, {make_copy, 0, 0, 14, 0}]], "enif_make_copy", ?OVER},
     {sent_twice, [[T, {send, 14, 14, 0, 0}, {make_int, 0, 0, 1, 1}, {send, 14, 0, 0, 0}]], "enif_send", "an environment that has been sent, and not been cleared since"},
     {sent_used, [[T, {send, 14, 14, 0, 0}, {make_string, 14, 14, 1, 1}]], "enif_make_string", "an environment that has been sent, and not been cleared since"},
     {garbage, [[{garbage, 0, 0, 1, 9}, {kind, 0, 0, 0, 0}]], "enif_term_type", "no term that the interface has given"},
     {garbage_boxed, [[{garbage, 0, 0, 3, 1}, {make_tuple, 0, 1, 0, 0}]], ?TUPLE, "no term that the interface has given"},
     {garbage_atom, [[{garbage, 0, 0, 3, 5}, {texts, 0, 0, 0, 0}]], "enif_get_string", "no term that the interface has given"},
     {env_freed, [[{free_env, 14, 0, 0, 0}, {make_string, 14, 0, 1, 1}]], "enif_make_string", "an environment that has been freed"},
     {env_freed_twice, [[{free_env, 14, 0, 0, 0}, {free_env, 14, 0, 0, 0}]], "enif_free_env", "an environment that has been freed"},
     {env_freed_before, [[{free_env, 14, 0, 0, 0}], [{clear_env, 14, 0, 0, 0}]], "enif_clear_env", "an environment that has been freed"},
     {calls_freed, [[{free_env, 0, 0, 0, 0}]], "enif_free_env", "an environment that is not the library's own"},
     {calls_cleared, [[{clear_env, 0, 0, 0, 0}]], "enif_clear_env", "an environment that is not the library's own"},
     {calls_earlier, [[], [{make_int, 0, 0, 1, 1}, {in_earlier, 0, 1, 0, 0}]], ?TUPLE, "the environment of a call that has ended"},
     {on_thread, [[{make_int, 0, 0, 1, 1}, {in_thread, 0, 1, 0, 0}]], ?TUPLE, "the environment of a call on another thread"},
     {term_on_thread, [[Call, {in_thread, 14, 1, 13, 0}]], ?TUPLE, "a term of a call on another thread"},
     {binary_released_twice, [[Bin, {release_binary, 0, 15, 0, 0}, {release_binary, 0, 15, 0, 0}]], "enif_release_binary", ?BYTES},
     {binary_released_made, [[Bin, {release_binary, 0, 15, 0, 0}, {make_binary, 0, 15, 0, 0}]], "enif_make_binary", ?BYTES},
     {binary_copied, [[Bin, {copy_binary, 0, 14, 15, 0}, {release_binary, 0, 15, 0, 0}, {release_binary, 0, 14, 0, 0}]], "enif_release_binary", ?BYTES},
     {binary_copied_made, [[Bin, {copy_binary, 0, 14, 15, 0}, {make_binary, 0, 15, 0, 0}, {realloc_binary, 0, 14, 9, 0}]], "enif_realloc_binary", ?BYTES},
     {binary_enqueued, [[Bin, Queue, {enqueue, 0, 15, 15, 0}, {make_binary, 0, 15, 0, 0}]], "enif_make_binary", ?BYTES},
     {binary_of_earlier, [[{new_binary, 0, 12, 80, 1}, {inspect, 0, 15, 12, 0}], [{make_binary, 0, 15, 0, 0}]], "enif_make_binary", ?BYTES},
     {object_gone, [[Object, {release_object, 0, 15, 0, 0}, {make_object, 0, 15, 0, 0}]], "enif_make_resource", "no resource that is alive"},
     {object_gone_kept, [[Object, {release_object, 0, 15, 0, 0}, {keep_object, 0, 15, 0, 0}]], "enif_keep_resource", "no resource that is alive"},
     {object_not_held, [[Object, {make_object, 0, 15, 0, 0}, {release_object, 0, 15, 0, 0}, {release_object, 0, 15, 0, 0}]],
      "enif_release_resource", "a resource that the library does not hold"},
     {object_gone_bytes, [[Object, {release_object, 0, 15, 0, 0}, {object_binary, 0, 15, 0, 0}]], "enif_sizeof_resource", "no resource that is alive"},
     {no_object, [[{no_object, 0, 15, 3, 0}, {keep_object, 0, 15, 0, 0}]], "enif_keep_resource", "no resource that is alive"},
     {queue_destroyed, [[Queue, {destroy_queue, 0, 15, 0, 0}, {dequeue, 0, 15, 0, 0}]], "enif_ioq_size", "no I/O queue that is alive"},
     {queue_destroyed_twice, [[Queue, {destroy_queue, 0, 15, 0, 0}, {destroy_queue, 0, 15, 0, 0}]], "enif_ioq_destroy", "no I/O queue that is alive"},
     {iterator_destroyed, [[Map, {map_put, 0, 12, 12, 12}, Iterator, {destroy_iterator, 0, 15, 0, 0}, {next_pair, 0, 15, 0, 1}]],
      "enif_map_iterator_get_pair", "a map iterator that has been destroyed"},
     {iterator_of_earlier, [[Map, {map_put, 0, 12, 12, 12}, Iterator], [{next_pair, 0, 15, 0, 1}]], "enif_map_iterator_get_pair", ?OVER}].
