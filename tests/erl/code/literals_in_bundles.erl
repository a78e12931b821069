%% Literals of purged modules, and persistent terms, within large terms that processes, tables and messages hold when they go; they are taken out afterwards.
-module(literals_in_bundles).
-export([main/0]).

-define(MODULE_OF_LITERALS, literals_that_go).

main() ->
    logger:set_primary_config(level, error),
    t:c(read, fun() -> rounds(fun read/2) end),
    t:c(taken_out, fun() -> rounds(fun taken_out/2) end),
    t:c(sent_on, fun() -> rounds(fun sent_on/2) end),
    t:c(in_a_table, fun() -> rounds(fun in_a_table/2) end),
    t:c(unread_messages, fun() -> rounds(fun unread/2) end),
    t:c(persistent_terms, fun() -> lists:usort([persistent(N) || N <- lists:seq(1, 20)]) end),
    t:c(memory, fun memory/0).

rounds(Test) -> lists:usort([begin load(N), Test(fun data/1, N) =:= literal(N) end || N <- lists:seq(1, 20)]).

literal(N) -> {N, [a, {b, N}, "text", 1.5, 1 bsl 70 + N], #{k => [N]}, lists:seq(1, 100)}.

load(N) ->
    Code = io_lib:format("literal() -> ~w.", [literal(N)]),
    Forms = [form(F) || F <- ["-module(literals_that_go).", "-export([literal/0]).", Code]],
    {ok, _, Binary} = compile:forms(Forms),
    code:purge(?MODULE_OF_LITERALS),
    {module, _} = code:load_binary(?MODULE_OF_LITERALS, "literals_that_go.erl", Binary).

form(Text) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.

%% A large term with the literal in it.
data(N) ->
    Literal = (id(?MODULE_OF_LITERALS)):literal(),
    [{I, Literal, [N]} || I <- lists:seq(1, 200)].

id(X) -> X.

purge() ->
    code:purge(?MODULE_OF_LITERALS), code:delete(?MODULE_OF_LITERALS), code:purge(?MODULE_OF_LITERALS),
    later().

%% Rounds of other literals that go.
later() -> [begin persistent_term:put(?MODULE, {lists:seq(1, 50), N}), persistent_term:erase(?MODULE), garbage_collect() end || N <- lists:seq(1, 5)], timer:sleep(3).

holder(Fun) ->
    Me = self(),
    spawn_link(fun() -> receive {data, Data} -> Me ! {self(), has_it}, receive go_on -> Fun(Me, Data) end end end).

give(Pid, Data) ->
    Pid ! {data, Data},
    receive {Pid, has_it} -> ok end.

result(Pid) -> receive {Pid, result, R} -> R end.

%% The large term has gone for this process itself: else it would hold the literal too.
without(Fun) ->
    Me = self(),
    {Pid, Ref} = spawn_monitor(fun() -> Me ! {self(), Fun()} end),
    receive {Pid, R} -> receive {'DOWN', Ref, process, Pid, _} -> R end end.

read(Data, N) ->
    Pid = holder(fun(Me, D) -> [E] = lists:usort([element(2, X) || X <- D]), Me ! {self(), result, E} end),
    without(fun() -> Pid ! {data, Data(N)} end),
    receive {Pid, has_it} -> ok end,
    purge(),
    Pid ! go_on,
    result(Pid).

taken_out(Data, N) ->
    Pid = holder(fun(Me, D) ->
        L = element(2, hd(D)),
        garbage_collect(),
        Me ! {self(), taken},
        receive go_on -> Me ! {self(), result, L} end
    end),
    without(fun() -> Pid ! {data, Data(N)} end),
    receive {Pid, has_it} -> ok end,
    purge(),
    Pid ! go_on,
    receive {Pid, taken} -> ok end,
    later(), later(),
    Pid ! go_on,
    result(Pid).

%% In part, and within another large term, from process to process.
sent_on(Data, N) ->
    Last = holder(fun(Me, {_, D}) -> Me ! {self(), result, element(2, lists:last(D))} end),
    Pid = holder(fun(_, D) -> Last ! {data, {lists:seq(1, 300), tl(D)}} end),
    without(fun() -> Pid ! {data, Data(N)} end),
    receive {Pid, has_it} -> ok end,
    purge(),
    Pid ! go_on,
    receive {Last, has_it} -> ok end,
    later(),
    Last ! go_on,
    result(Last).

in_a_table(Data, N) ->
    Table = ets:new(rows, [public]),
    Pid = holder(fun(Me, D) -> ets:insert(Table, {N, D}), Me ! {self(), result, ok} end),
    without(fun() -> Pid ! {data, Data(N)} end),
    receive {Pid, has_it} -> ok end,
    Pid ! go_on,
    ok = result(Pid),
    purge(),
    [L] = lists:usort(ets:select(Table, [{{'_', [{'_', '$1', '_'} | '_']}, [], ['$1']}])),
    [{N, D}] = ets:lookup(Table, N),
    ets:delete(Table),
    later(),
    true = L =:= element(2, hd(D)),
    L.

unread(Data, N) ->
    Me = self(),
    Pid = spawn_link(fun() -> receive go_on -> receive {data, D} -> Me ! {self(), result, element(2, hd(D))} end end end),
    without(fun() -> Pid ! {data, Data(N)} end),
    purge(),
    Pid ! go_on,
    result(Pid).

persistent(N) ->
    Key = {?MODULE, N},
    persistent_term:put(Key, literal(N)),
    Pid = holder(fun(Me, D) -> L = element(2, hd(D)), later(), Me ! {self(), result, L} end),
    without(fun() -> T = persistent_term:get(Key), Pid ! {data, [{I, T} || I <- lists:seq(1, 200)]} end),
    receive {Pid, has_it} -> ok end,
    persistent_term:erase(Key),
    later(),
    Pid ! go_on,
    result(Pid) =:= literal(N).

%% What nobody refers to any more comes home.
memory() ->
    Before = literal_bytes(),
    Key = {?MODULE, memory},
    persistent_term:put(Key, lists:seq(1, 500_000)),
    Pid = holder(fun(_, _) -> ok end),
    without(fun() -> T = persistent_term:get(Key), Pid ! {data, [{I, T} || I <- lists:seq(1, 200)]} end),
    receive {Pid, has_it} -> ok end,
    persistent_term:erase(Key),
    later(),
    Held = literal_bytes() - Before,
    Monitor = monitor(process, Pid),
    Pid ! go_on,
    receive {'DOWN', Monitor, process, Pid, _} -> ok end,
    {Held < 20_000_000, comes_home(Before, 100)}.

comes_home(_, 0) -> false;
comes_home(Before, N) ->
    case literal_bytes() < Before + 1_000_000 of
        true -> true;
        false -> timer:sleep(50), comes_home(Before, N - 1)
    end.

literal_bytes() ->
    lists:sum([bytes(Sizes) || {_, _, Parts} <- erlang:system_info({allocator_sizes, literal_alloc}), {Kind, Sizes} <- Parts, Kind =:= mbcs orelse Kind =:= sbcs]).

bytes(Sizes) -> lists:sum([Bytes || {blocks, Classes} <- Sizes, {_, [{size, Bytes, _, _}]} <- Classes] ++ [Bytes || {blocks_size, Bytes, _, _} <- Sizes]).
