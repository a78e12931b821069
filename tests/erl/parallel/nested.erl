%% Programs of nested loops, drawn from a seed: what the functions of `parallel` give is what those of `lists` give, however the loops are cut (docs/parallel.md).
%%
%% A program is a term, which an evaluator runs by `lists` (the model) and by `parallel` with options. Both must come to the same: value, or class, reason and
%% first stack frame, also where an exception is caught within. Each element sends messages with its path (the elements that it is within), numbered by the
%% place in the program. Of what the model has sent, all must have come, those with the same path in order; beside these only what elements have sent
%% that the model has not begun, in order too.
-module(nested).
-export([main/0, seeds/2, show/1]).
-export([only_zero/1]).

%% Bodies that a program evaluates at most, and loops within each other.
-define(BODIES, 250).
-define(DEPTH, 3).

main() ->
    t:parallel(),
    Used = [told(Seed, 6) || Seed <- lists:seq(1, 200)],
    t:p(used, lists:usort(lists:append(Used))).

%% `make parallel-seeds`: a line for each of these programs.
seeds(First, Last) ->
    t:parallel(),
    [told(Seed, 12) || Seed <- lists:seq(First, Last)],
    ok.

%% A program, and what it comes to by each way.
show(Seed) ->
    t:parallel(),
    {Body, Used} = drawn(Seed),
    io:format("~p~n~p~nlists: ~p~n", [Body, Used, run(Body, lists, none)]),
    [io:format("~0p: ~p~n", [Options, run(Body, Options, none)]) || Options <- options(Seed, 12, Used)],
    ok.

%% One line: what a program comes to, how many messages it sends, and with which options it does something else.
told(Seed, Seeds) ->
    {Body, Used} = drawn(Seed),
    {Outcome, Sent} = Model = run(Body, lists, none),
    Differ = [{Options, Why} || Options <- options(Seed, Seeds, Used), Why <- differences(Model, run(Body, Options, Model))],
    t:p(io_lib:format("~w", [Seed]), {short(Outcome), length(Sent), Differ}),
    Used.

options(Seed, Seeds, Used) ->
    [#{}, #{steal => always}, #{steal => always, max => 1}, #{steal => always, grace => 0}]
        ++ [#{steal => {seed, Seed * 100 + N}} || N <- lists:seq(1, Seeds)]
        % Where nothing is raised, no order of exceptions matters.
        ++ [#{steal => always, order => any} || [raise, all, any, search] -- Used =:= [raise, all, any, search]].

short({ok, Value}) -> {ok, erlang:phash2(Value)};
short(Exception) -> Exception.

differences({Outcome, Sent}, {Outcome, Came}) ->
    Paths = lists:usort([Path || {Path, _} <- Sent ++ Came]),
    [{order, Path, of_path(Path, Sent), of_path(Path, Came)} || Path <- Paths, not is_in_order(Path, of_path(Path, Sent), of_path(Path, Came))];
differences({Outcome, _}, {Other, _}) -> [{is, Other, for, Outcome}].

of_path(Path, Messages) -> [Site || {Of, Site} <- Messages, Of =:= Path].

%% Elements that `find_any` may leave, and those behind an exception, have sent something or not.
is_in_order(Path, Sent, Came) ->
    case Sent =:= [] orelse lists:keymember(find_any, 1, Path) of
        true -> Came =:= lists:usort(Came);
        false -> Came =:= Sent
    end.

%% What it comes to, and the messages it has sent, in a process of its own. Those that must come are waited for.
run(Body, How, Model) ->
    {_, Ref} = spawn_monitor(fun() ->
                                     Outcome = ended(fun() -> evaluated(Body, {0, [], self(), How}) end),
                                     Came = came(),
                                     exit({Outcome, Came ++ awaited(Outcome, Came, Model)})
                             end),
    receive {'DOWN', Ref, process, _, Result} -> Result end.

awaited(Outcome, Came, {Outcome, Sent}) ->
    wait([Message || {Path, _} = Message <- Sent -- Came, not lists:keymember(find_any, 1, Path)]);
awaited(_, _, _) -> [].

wait([]) -> [];
wait([Message | Messages]) -> receive {sent, Message} -> [Message | wait(Messages)] after 5000 -> [] end.

came() -> receive {sent, Message} -> [Message | came()] after 0 -> [] end.

ended(F) ->
    try F() of
        Value -> {ok, Value}
    catch
        Class:Reason:Stack -> {Class, Reason, frame(Reason, Stack)}
    end.

%% What the loop says of a fun's value is no fun's.
frame({bad_filter, _}, _) -> own;
frame({case_clause, wrong}, _) -> own;
frame(_, [{Module, Function, Arguments, _} | _]) when is_list(Arguments) -> {Module, Function, length(Arguments)};
frame(_, [{Module, Function, Arity, _} | _]) -> {Module, Function, Arity};
frame(_, []) -> none.

%% ---- evaluating: an environment is `{Element, Path, Root, How}`

evaluated({Statements, Value}, Env) ->
    [statement(Statement, Env) || Statement <- Statements],
    value(Value, Env).

statement({send, Site}, {_, Path, Root, _}) -> Root ! {sent, {Path, Site}};
statement({remember, Site}, {_, Path, _, _}) -> put(Path, Site);
statement({work, Every}, {X, _, _, _}) -> is(X, Every) andalso work(20000);
statement({value, Value}, Env) -> value(Value, Env).

work(0) -> ok;
work(N) -> work(N - 1).

value(element, {X, _, _, _}) -> X;
value({int, N}, _) -> N;
value({pair, A, B}, Env) -> {value(A, Env), value(B, Env)};
%% What an element has put into its dictionary is there within it.
value(recalled, {_, Path, _, _}) -> [get(lists:nthtail(N, Path)) || N <- lists:seq(0, length(Path))];
value({raise, How, Every, Value}, {X, Path, _, _} = Env) ->
    case hash({X, length(Path)}, Every) of
        0 -> raise(How, {raised, X});
        _ -> value(Value, Env)
    end;
value({attempt, Body, Caught, After}, Env) ->
    try evaluated(Body, Env)
    catch
        Class:Reason:Stack when Caught =:= any; Class =:= Caught -> {caught, Class, Reason, frame(Reason, Stack)}
    after
        [statement(Statement, Env) || Statement <- After]
    end;
value({loop, Site, Kind, Data, Bodies}, {X, Path, Root, How}) ->
    loop(Kind, Site, data(Data, X), Bodies, {X, Path, Root, How});
%% What stands behind an exception would take long, and may not let itself be stopped.
value({stuck, N, Raises, Stays}, {_, _, _, How}) ->
    F = fun(X) when X < Raises -> X;
           (X) when X =:= Raises -> throw(X);
           (_) -> stay(Stays)
        end,
    try call(How, map, [F, {seq, 1, N}])
    catch throw:X:Stack -> {caught, X, frame(X, Stack)}
    end;
value({sorted, N, Order}, {_, _, _, How}) ->
    List = [(X * 7919) rem 30011 || X <- lists:seq(1, N)],
    erlang:phash2(case Order of
                      none -> call(How, sort, [List]);
                      key -> call(How, sort, [fun(A, B) -> A rem 1000 =< B rem 1000 end, List]);
                      raises -> call(How, sort, [fun(A, B) -> (A =:= 7 orelse B =:= 7) andalso throw(seven), A =< B end, List])
                  end).

stay(in_receive) -> receive after 50 -> ok end;
stay(at_work) -> work(500000);
stay(stubborn) ->
    try receive after 10 -> ok end
    catch _:_ -> stay(in_receive)
    end.

raise(error, What) -> error(What);
raise(exit, What) -> exit(What);
raise(throw, What) -> throw(What);
raise(badarg, What) -> hd(What);
raise(badarith, What) -> 1 + What;
raise(badmatch, What) -> {none} = What;
raise(case_clause, What) -> case What of none -> ok end;
raise(function_clause, What) -> ?MODULE:only_zero(What);
raise(undef, What) -> ?MODULE:is_not_there(What).

only_zero(0) -> 0.

data({list, N}, _) -> numbers(N);
data({tuple, N}, _) -> list_to_tuple(numbers(N));
data({map, N}, _) -> maps:from_list([{X, {of_key, X}} || X <- numbers(N)]);
data({seq, From, N}, _) -> {seq, From, From + N - 1};
%% Another number for each element around.
data({up_to, N}, X) -> {seq, 1, hash(X, N + 1)}.

numbers(N) -> [(X * 37) rem 101 || X <- lists:seq(1, N)].

loop(Kind, Site, Data, [Body | _] = Bodies, {_, Path, Root, How}) ->
    Of = fun(B, X) -> evaluated(B, {X, [{Site, X} | Path], Root, How}) end,
    F = fun(X) -> Of(Body, X) end,
    case Kind of
        map -> call(How, map, [F, Data]);
        foreach -> call(How, foreach, [F, Data]);
        filter -> call(How, filter, [fun(X) -> is(F(X), 2) end, Data]);
        bad_filter -> call(How, filter, [fun(X) -> hash(F(X), 5) =/= 0 orelse wrong end, Data]);
        filtermap ->
            call(How, filtermap, [fun(X) -> V = F(X), element(1 + hash(V, 3), {true, false, {true, V}}) end, Data]);
        bad_filtermap -> call(How, filtermap, [fun(X) -> hash(F(X), 5) =/= 0 orelse wrong end, Data]);
        flatmap -> call(How, flatmap, [fun(X) -> V = F(X), element(1 + hash(V, 3), {[], [V], [X, V]}) end, Data]);
        bad_flatmap -> call(How, flatmap, [fun(X) -> V = F(X), element(1 + hash(V, 5), {V, [], [V], [X, V], []}) end, Data]);
        all -> call(How, all, [fun(X) -> not is(F(X), 6) end, Data]);
        bad_all -> call(How, all, [fun(X) -> hash(F(X), 5) =/= 0 orelse wrong end, Data]);
        any -> call(How, any, [fun(X) -> is(F(X), 6) end, Data]);
        search -> call(How, search, [fun(X) -> is(F(X), 6) end, Data]);
        sort -> call(How, sort, [elements(Data)]);
        sort_by -> call(How, sort, [fun(A, B) -> hash(A, 1000) =< hash(B, 1000) end, elements(Data)]);
        fold_lists -> call(How, fold, [fun(X) -> [F(X)] end, fun(A, B) -> A ++ B end, [], Data]);
        fold_sum -> call(How, fold, [fun(X) -> hash(F(X), 1000) end, fun(A, B) -> A + B end, 0, Data]);
        find_any ->
            Wanted = lists:nth(length(elements(Data)) div 2 + 1, elements(Data) ++ [none]),
            Found = fun(X) ->
                            _ = try evaluated(Body, {X, [{find_any, Site, X} | Path], Root, How}) catch _:_ -> caught end,
                            X =:= Wanted
                    end,
            call(How, find_any, [Found, Data]);
        both ->
            [A, B] = [fun() -> Of(lists:nth(N, Bodies), N) end || N <- [1, 2]],
            call(How, both, [A, B]);
        join -> call(How, join, [[fun() -> Of(lists:nth(1 + abs(X) rem 2, Bodies), X) end || X <- elements(Data), is_integer(X)]])
    end.

is(Value, Every) -> hash(Value, Every) =:= 0.

hash(Value, Range) -> erlang:phash2(Value, Range).

%% The same by `lists`, and by `parallel`.
call(lists, both, [F, G]) -> A = F(), {A, G()};
call(lists, join, [Funs]) -> [F() || F <- Funs];
call(lists, fold, [Map, Combine, Zero, Data]) -> lists:foldl(fun(X, Acc) -> Combine(Acc, Map(X)) end, Zero, elements(Data));
call(lists, find_any, [F, Data]) -> lists:search(F, elements(Data));
call(lists, sort, Arguments) -> apply(lists, sort, Arguments);
call(lists, Function, [F, Data]) -> lists:Function(F, elements(Data));
call(Options, Function, Arguments) when Options =:= #{} -> apply(parallel, Function, Arguments);
call(Options, Function, Arguments) -> apply(parallel, Function, Arguments ++ [Options]).

elements({seq, From, To}) -> lists:seq(From, To);
elements(Tuple) when is_tuple(Tuple) -> tuple_to_list(Tuple);
elements(Map) when is_map(Map) -> maps:to_list(Map);
elements(List) -> List.

%% ---- drawing a program, and the names of what is in it

drawn(Seed) ->
    rand:seed(exsss, Seed),
    put(site, 0),
    put(used, []),
    Body = {statements(0, 1) ++ long_sort(rand:uniform(30)), loop(?DEPTH, ?BODIES)},
    {Body, lists:usort(get(used))}.

one_of(Choices) -> element(rand:uniform(tuple_size(Choices)), Choices).

use(Names) -> put(used, Names ++ get(used)).

site() -> put(site, get(site) + 1).

%% One that is cut.
long_sort(1) ->
    use([long_sort]),
    [{value, {attempt, {[], {sorted, 20000 + rand:uniform(1000), one_of({none, key, raises})}}, throw, []}}];
long_sort(_) -> [].

%% Which loop, over how much: what is left of the number of bodies is shared by the elements.
loop(Depth, Bodies) ->
    Kind = one_of({map, map, foreach, filter, filtermap, flatmap, all, any, search, fold_lists, fold_sum, find_any, both, both, join,
                   one_of({sort, sort_by, bad_filter, bad_filtermap, bad_flatmap, bad_all})}),
    Raises = lists:member(Kind, [bad_filter, bad_filtermap, bad_flatmap, bad_all]),
    use([raise || Raises] ++ [Kind]),
    Site = site(),
    Most = min(Bodies, one_of({3, 6, 9, 20, 60})),
    N = case Kind of
            both -> 2;
            _ when Depth =:= ?DEPTH -> 1 + rand:uniform(Most);
            _ -> rand:uniform(Most + 1) - 1
        end,
    Data = case one_of({list, list, seq, tuple, map, up_to}) of
               seq -> {seq, one_of({1, -3, 1 bsl 59 - 3, 1 bsl 64}), N};
               Shape -> {Shape, N}
           end,
    use([element(1, Data)]),
    Within = Bodies div max(1, N),
    {loop, Site, Kind, Data, [body(Depth - 1, Within), body(Depth - 1, Within)]}.

body(Depth, Bodies) ->
    Before = statements(Depth, Bodies),
    {Before, expression(Depth, Bodies)}.

statements(Depth, Bodies) -> [drawn_statement(Depth, Bodies) || _ <- lists:seq(1, rand:uniform(3) - 1)].

drawn_statement(Depth, Bodies) ->
    case rand:uniform(6) of
        1 -> one_of({{remember, site()}, {work, rand:uniform(20)}});
        2 when Depth > 0, Bodies > 1 -> {value, expression(Depth, Bodies div 2)};
        _ -> {send, site()}
    end.

expression(Depth, Bodies) ->
    case rand:uniform(24) of
        N when N =< 10, Depth > 0, Bodies > 1 -> loop(Depth, Bodies);
        N when N =< 14 -> attempt(Depth, Bodies);
        N when N =< 16 ->
            use([raise]),
            {raise, one_of({error, exit, throw, badarg, badarith, badmatch, case_clause, function_clause, undef}), one_of({3, 10, 30}), element};
        N when N =< 18 -> {pair, expression(Depth, Bodies div 2), expression(Depth, Bodies div 2)};
        N when N =< 20 -> recalled;
        N when N =< 22 -> {int, rand:uniform(100)};
        23 when Depth > 1 ->
            use([raise, stuck]),
            N = 1 + rand:uniform(8),
            {stuck, N, rand:uniform(N), one_of({in_receive, at_work, stubborn})};
        _ -> element
    end.

attempt(Depth, Bodies) ->
    use([attempt]),
    Body = body(Depth, Bodies div 2),
    {attempt, Body, one_of({any, any, error, throw, exit}), [{send, site()} || _ <- lists:seq(1, rand:uniform(2) - 1)]}.
