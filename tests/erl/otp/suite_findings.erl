%% What OTP's own suites found: limits of atomics, long atoms, built-ins that are instructions, funs from outside, a result
%% read where its guard failed, room for comprehensions.
-module(suite_findings).
-export([main/0]).

main() ->
    Values = [1 bsl 64, (1 bsl 64) - 1, 1 bsl 63, (1 bsl 63) - 1, -(1 bsl 63), -(1 bsl 63) - 1, a],
    [c({counters, Kind, Op, V}, fun() ->
                                          C = counters:new(1, [Kind]),
                                          R = try counters:Op(C, 1, V) catch error:E -> E end,
                                          {R, counters:get(C, 1)}
                                  end) || Kind <- [atomics, write_concurrency], Op <- [put, add, sub], V <- Values],
    [c({atomics, Signed, Op, V}, fun() ->
                                           A = atomics:new(1, [{signed, Signed}]),
                                           R = try atomics:Op(A, 1, V) catch error:E -> E end,
                                           {R, atomics:get(A, 1)}
                                   end) || Signed <- [true, false], Op <- [put, add, add_get, exchange, sub], V <- Values],
    [c({to_atom, byte_size(B)}, fun() -> try binary_to_atom(B, utf8) catch error:E -> E end end)
     || B <- [<<0:255/unit:8, 255>>, <<0:256/unit:8, 255>>, <<0:300/unit:8, 255, 0>>, <<255>>]],
    t:c(to_existing, fun() -> try binary_to_existing_atom(<<0:300/unit:8, 255>>, utf8) catch error:E -> E end end),
    [c({builtin, F, A}, fun() -> {erlang:is_builtin(erlang, F, A), lists:member({erlang, F, A}, erlang:system_info(snifs))} end)
     || {F, A} <- [{apply, 2}, {apply, 3}, {yield, 0}, {hibernate, 3}, {apply, 42}, {self, 0}]],
    t:c(copy_shared, fun() -> [erlang:is_builtin(erts_debug, copy_shared, A) || A <- [1, 2]] end),
    [c({free, N}, fun() -> try is_function(binary_to_term(a_fun(N)), 1) catch error:E -> E end end) || N <- [0, 255, 256, 1000]],
    [c({keys, M}, fun() -> which(t:id(M)) end)
     || M <- [#{a => 0, c => 0}, #{a => 0, b => 0}, #{b => 0, c => 0}, #{a => 0, d => 0, c => 0}, #{c => 0}, #{}]],
    t:c(keys_of_none, fun() -> which(t:id(none)) end),
    erts_debug:set_internal_state(available_internal_state, true),
    [c({room, N}, fun() ->
                            B = binary:copy(<<7>>, N),
                            R = << <<X:16>> || <<X>> <= B >>,
                            {refc_binary, Size, {binary, Room}, _} = erts_debug:get_internal_state({binary_info, R}),
                            {Size, Room}
                    end) || N <- [1, 100, 1000]],
    t:c(segments, fun() ->
                          [is_integer(N) || {instance, _, Info} <- erlang:system_info({allocator, mseg_alloc}),
                                            {memkind, Kind} <- Info, {status, Status} <- Kind, {cached_segments, N} <- Status] =/= []
                  end),
    t:c(atomics_of_the_machine, fun() ->
                                        {What, Whose, Ops} = lists:keyfind("64-bit native atomics", 1, erlang:system_info(ethread_info)),
                                        {What, is_list(Whose), is_list(Ops)}
                                end).

%% The compiler knows that the map is one, and reads what is_map_key/2 said behind its fail label.
which(#{} = Map) ->
    case case A = is_map_key(a, Map) of
             false -> false;
             _ -> is_map_key(b, Map)
         end of
        true -> a_and_b;
        false ->
            case case C = is_map_key(c, Map) of
                     false -> false;
                     _ -> is_map_key(b, Map)
                 end of
                true -> c_and_b;
                false ->
                    case case A of
                             false -> false;
                             _ -> is_map_key(d, Map)
                         end of
                        true -> a_and_d;
                        false ->
                            case C of
                                true -> only_c;
                                false -> nothing
                            end
                    end
            end
    end.

%% A fun of arity 1 with so many free variables, as term_to_binary/1 would have it.
a_fun(Free) ->
    <<131, Pid/binary>> = term_to_binary(self()),
    Body = <<1, 0:128, 0:32, Free:32, $d, 4:16, "none", $a, 0, $b, 1234:32, Pid/binary, (binary:copy(<<$a, 1>>, Free))/binary>>,
    <<131, $p, (byte_size(Body) + 4):32, Body/binary>>.

c(Name, F) -> t:c(list_to_atom(lists:flatten(io_lib:format("~w", [Name]))), F).
