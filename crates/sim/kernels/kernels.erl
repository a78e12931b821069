%% Kernels: small programs, each mostly of one kind of work or two, by which a calibration finds what a unit of each takes (docs/simulator.md).
%%
%% main/1 runs one, once: so the simulator counts what work it is. measure/1 runs all of them so many times in turns and prints the least
%% nanoseconds of each: so a real machine says how long it takes. program/1 does that with a program that has main/1.
%% Each run is a process of its own. None takes more than some milliseconds, so that some run of it is not disturbed on a busy machine.
-module(kernels).
-export([main/1, measure/1, program/1]).

main([Name]) ->
    {_, Kernel} = lists:keyfind(list_to_atom(Name), 1, all()),
    run(Kernel).

measure([Times]) ->
    Rounds = [[{Name, timed(Kernel)} || {Name, Kernel} <- all()] || _ <- lists:seq(1, list_to_integer(Times))],
    Least = fun(Name) -> lists:min([Ns || Round <- Rounds, {N, Ns} <- Round, N =:= Name]) end,
    [io:format("kernel ~s ~w~n", [Name, Least(Name)]) || {Name, _} <- all()],
    halt().

program([Times, Name | Args]) ->
    Module = list_to_atom(Name),
    Run = fun() -> Module:main(Args) end,
    io:format("program ~s ~w~n", [Name, lists:min([timed(Run) || _ <- lists:seq(1, list_to_integer(Times))])]),
    halt().

timed(Kernel) ->
    Start = erlang:monotonic_time(nanosecond),
    run(Kernel),
    erlang:monotonic_time(nanosecond) - Start.

run(Kernel) ->
    {Pid, Monitor} = spawn_monitor(Kernel),
    receive {'DOWN', Monitor, process, Pid, normal} -> ok end.

all() ->
    [{nothing, fun nothing/0},
     {loop, fun() -> loop(300000) end},
     {moves, fun() -> moves(200000, 1, 2, 3, 4, 5) end},
     {many_moves, fun() -> many_moves(150000, 1, 2, 3, 4, 5, 6, 7, 8) end},
     {tests, fun() -> tests(400000, 1, 2, 3) end},
     {integers, fun() -> integers(100000, 12345, 99) end},
     {long_integers, fun() -> long_integers(60000, 12345) end},
     {divisions, fun() -> divisions(200000, 1) end},
     {lorenz, fun() -> lorenz(25000, 1.0, 1.0, 1.0) end},
     {kepler, fun() -> kepler(15000, 1.0, 0.0, 0.0, 1.0, 0) end},
     {tiny, fun() -> tiny(30000, 1.0e-200, 1.0e-200) end},
     {vanishing, fun() -> vanishing(30000, 1.0e-100, 0) end},
     {interest, fun() -> interest(60000, 1000.0, 0.01) end},
     {mean, fun() -> List = [N / 3 || N <- lists:seq(1, 500)], times(80, fun() -> mean(List, 0.0, 0.0, 0) end) end},
     {long_floats, fun() -> long_floats(40000, 1.0, 0.5, 0.25) end},
     {orbit, fun() -> orbit(60000, 0.1, 0.0) end},
     {pendulum, fun() -> pendulum(40000, 1.0, 0.0, 0.001) end},
     {slope, fun() -> slope(25000, 1.0, 1.0) end},
     {circle, fun() -> circle(0.0, 1.0, 0.01, 0.9999, 60000) end},
     {collatz, fun() -> collatz(3000, 0) end},
     {quick, fun() -> List = scattered(3000, 7, []), length(quick(List)) end},
     {queens, fun() -> queens(8) end},
     {primes, fun() -> length(primes(20000)) end},
     {fibonacci, fun() -> fibonacci(22) end},
     {even, fun() -> even(400000) end},
     {body_sum, fun() -> List = lists:seq(1, 500), times(200, fun() -> body_sum(List) end) end},
     {walk, fun() -> List = lists:seq(1, 500), times(800, fun() -> walk(List, 0) end) end},
     {walk_long, fun() -> List = lists:seq(1, 20000), times(20, fun() -> walk(List, 0) end) end},
     {build, fun() -> times(1000, fun() -> build(200, []) end) end},
     {build_long, fun() -> times(4, fun() -> build(50000, []) end) end},
     {body_map, fun() -> List = lists:seq(1, 200), times(1000, fun() -> body_map(List) end) end},
     {tuples, fun() -> tuples(150000, {1, 2, 3, 4}) end},
     {pairs, fun() -> List = [{N, a} || N <- lists:seq(1, 200)], times(1000, fun() -> pairs(List, 0) end) end},
     {evaluate, fun() -> Tree = tree(9), times(60, fun() -> evaluate(Tree) end) end},
     {classify, fun() -> List = atoms(400), times(400, fun() -> classify(List, 0) end) end},
     {maps, fun() -> small_map(40000, #{a => 1, b => 2, c => 3}) end},
     {large_map, fun() -> large_map(10000, #{}) end},
     {folds, fun() -> List = lists:seq(1, 300), times(500, fun() -> lists:foldl(fun(X, S) -> X + S end, 0, List) end) end},
     {maps_of_lists, fun() -> List = lists:seq(1, 300), times(400, fun() -> lists:map(fun(X) -> X + 1 end, List) end) end},
     {closures, fun() -> closures(200000, fun(X) -> X + 1 end, 0) end},
     {big, fun() -> big(25000, 1 bsl 70, 1) end},
     {bigger, fun() -> big_product(25000, 12345678901234567, 0) end},
     {sort, fun() -> List = scattered(2000, 7, []), times(10, fun() -> lists:sort(List) end) end},
     {sort_long, fun() -> List = scattered(20000, 7, []), lists:sort(List) end},
     {keysort, fun() -> List = [{N, a} || N <- scattered(1000, 7, [])], times(10, fun() -> lists:keysort(1, List) end) end},
     {reverse, fun() -> List = lists:seq(1, 500), times(1000, fun() -> lists:reverse(List) end) end},
     {member, fun() -> List = lists:seq(1, 500), times(2000, fun() -> lists:member(0, List) end) end},
     {append, fun() -> List = lists:seq(1, 300), times(2000, fun() -> List ++ [1] end) end},
     {split, fun() -> List = lists:seq(1, 5000), times(40, fun() -> lists:split(2500, List) end) end},
     {dictionary, fun() -> put(a, 1), dictionary(100000) end},
     {built_ins, fun() -> built_ins(50000, [1, 2, 3]) end},
     {catches, fun() -> catches(100000) end},
     {text, fun() -> times(20000, fun() -> integer_to_list(123456) end) end},
     {binaries, fun() -> times(300, fun() -> parse(compose(100, <<>>), 0) end) end},
     {external, fun() -> Term = [{a, N, "bc"} || N <- lists:seq(1, 50)],
                         times(300, fun() -> binary_to_term(term_to_binary(Term)) end) end},
     {live_small, fun() -> live(100, 400) end},
     {live, fun() -> live(3000, 80) end},
     {live_large, fun() -> live(60000, 6) end},
     {grow, fun() -> length(build(100000, [])) end},
     {grow_tuples, fun() -> length(triples(60000, [])) end},
     {grow_many, fun() -> together(10, fun() -> length(build(10000, [])) end) end},
     {to_self, fun() -> to_self(20000) end},
     {to_self_later, fun() -> times(10, fun() -> queue_up(2000), drain(2000) end) end},
     {ping, fun() -> ping(7000, 0) end},
     {ping_small, fun() -> ping(6000, {ping, self(), 1}) end},
     {ping_ten, fun() -> ping(5000, lists:seq(1, 10)) end},
     {ping_large, fun() -> ping(1500, lists:seq(1, 200)) end},
     {fan_in, fun() -> fan_in(10, 2000, {item, self(), 1}) end},
     {fan_in_many, fun() -> fan_in(200, 100, {item, self(), 1}) end},
     {fan_in_atoms, fun() -> fan_in(20, 2000, item) end},
     {fan_out, fun() -> fan_out(50, 400, {item, self(), 1}) end},
     {fan_out_many, fun() -> fan_out(400, 50, {item, self(), 1}) end},
     {exchange, fun() -> exchange(12, 60) end},
     {exchange_wide, fun() -> exchange(50, 10) end},
     {accounts, fun() -> accounts(8000) end},
     {stacked, fun() -> stacked(100, 200, {item, self(), 1}) end},
     {stacked_high, fun() -> stacked(400, 40, {item, self(), 1}) end},
     {ring, fun() -> ring(10, 20000) end},
     {ring_large, fun() -> ring(600, 12000) end},
     {calls, fun() -> server_calls(3000) end},
     {spawn_one, fun() -> times(2000, fun() -> run(fun nothing/0) end) end},
     {spawn_link, fun() -> times(120, fun() -> linked(20) end) end},
     {spawn_many, fun() -> together(2000, fun nothing/0) end},
     {spawn_holding, fun() -> together(400, fun() -> length(build(300, [])) end) end},
     {ets_lookups, fun() -> ets_lookups(40000) end},
     {ets_inserts, fun() -> ets_inserts(12000) end},
     {ets_counters, fun() -> ets_counters(40000) end},
     {timers, fun() -> times(10000, fun() -> erlang:cancel_timer(erlang:send_after(1000000, self(), late)) end) end},
     {yields, fun() -> together(10, fun() -> times(4000, fun erlang:yield/0) end) end}].

nothing() -> ok.

times(0, _) -> ok;
times(N, Do) -> Do(), times(N - 1, Do).

loop(0) -> ok;
loop(N) -> loop(N - 1).

moves(0, A, _, _, _, _) -> A;
moves(N, A, B, C, D, E) -> moves(N - 1, B, C, D, E, A).

many_moves(0, A, _, _, _, _, _, _, _) -> A;
many_moves(N, A, B, C, D, E, F, G, H) -> many_moves(N - 1, H, A, F, B, C, G, D, E).

tests(0, A, _, _) -> A;
tests(N, A, B, C) when A > B, B > C -> tests(N - 1, B, A, C);
tests(N, A, B, C) when B > A, A =< C, is_integer(A) -> tests(N - 1, A, B, C);
tests(N, A, B, C) -> tests(N - 1, A, C, B).

integers(0, A, _) -> A;
integers(N, A, B) -> integers(N - 1, (A + B) band 16#ffffff, (B bxor 3) + 1).

long_integers(0, A) -> A;
long_integers(N, A) ->
    B = (A * 17 + 5) band 16#ffffff,
    C = (B bsr 3) + (B bsl 2) - A,
    D = (C bor 1) * 3 - B,
    long_integers(N - 1, (C + D * 2 - 7) band 16#ffffff).

divisions(0, A) -> A;
divisions(N, A) -> divisions(N - 1, (A rem 1009) + (N div 7)).

%% The attractor of Lorenz.
lorenz(0, X, Y, Z) -> X + Y + Z;
lorenz(N, X, Y, Z) ->
    lorenz(N - 1, X + 10.0 * (Y - X) * 0.001, Y + (X * (28.0 - Z) - Y) * 0.001, Z + (X * Y - 2.667 * Z) * 0.001).

%% A planet, and how often it crosses an axis.
kepler(0, _, _, _, _, Crossings) -> Crossings;
kepler(N, X, Y, U, V, Crossings) ->
    Squared = X * X + Y * Y,
    Pull = 0.01 / (Squared * Squared),
    U1 = U - X * Pull,
    V1 = V - Y * Pull,
    Y1 = Y + V1 * 0.01,
    if
        Y1 * Y < 0.0 -> kepler(N - 1, X + U1 * 0.01, Y1, U1, V1, Crossings + 1);
        true -> kepler(N - 1, X + U1 * 0.01, Y1, U1, V1, Crossings)
    end.

%% Floats so small that their terms take memory.
tiny(0, X, Y) -> X + Y;
tiny(N, X, Y) -> tiny(N - 1, X * 0.5 + Y, Y * 0.999).

vanishing(0, _, Rounds) -> Rounds;
vanishing(N, X, Rounds) ->
    Y = X * 0.9 - 1.0e-180,
    if
        Y < 1.0e-150 -> vanishing(N - 1, 1.0e-100, Rounds + 1);
        true -> vanishing(N - 1, Y, Rounds)
    end.

interest(0, Sum, _) -> Sum;
interest(N, Sum, Rate) when Sum > 2000.0 -> interest(N - 1, Sum * 0.5, Rate);
interest(N, Sum, Rate) -> interest(N - 1, Sum + Sum * Rate, Rate).

%% Mean and spread of a list.
mean([], S, Q, N) -> S / N + Q / N;
mean([X | Rest], S, Q, N) -> mean(Rest, S + X, Q + X * X, N + 1).

long_floats(0, A, _, _) -> A;
long_floats(N, A, B, C) when is_float(A), is_float(B), is_float(C) ->
    D = A * B + C * (A - B),
    E = (D + 1.5) * 0.25 - A / 3.0,
    long_floats(N - 1, (D - E) * 0.125, B, C + E * 0.0).

%% The logistic map, with a test in each round.
orbit(0, X, S) -> X + S;
orbit(N, X, S) ->
    Y = 3.7 * X * (1.0 - X),
    if
        Y > 0.5 -> orbit(N - 1, Y, S + 1.0);
        true -> orbit(N - 1, Y, S)
    end.

%% A pendulum of small swings, step by step.
pendulum(0, Angle, _, _) -> Angle;
pendulum(N, Angle, Speed, Step) ->
    Faster = Speed - 9.81 * Angle * Step,
    pendulum(N - 1, Angle + Faster * Step, Faster, Step).

%% Newton's way to a root of a polynomial, again and again from near it.
slope(0, X, _) -> X;
slope(N, X, Start) ->
    Value = ((2.0 * X - 3.0) * X + 0.5) * X - 7.0,
    Next = X - Value / ((6.0 * X - 6.0) * X + 0.5),
    if
        Next - X < 0.0001, X - Next < 0.0001 -> slope(N - 1, Start + N / 100000, Start);
        true -> slope(N - 1, Next, Start)
    end.

%% A point turned by an angle again and again.
circle(X, Y, Sine, Cosine, N) when N > 0 ->
    circle(X * Cosine - Y * Sine, X * Sine + Y * Cosine, Sine, Cosine, N - 1);
circle(X, Y, _, _, _) -> X + Y.

collatz(0, Steps) -> Steps;
collatz(N, Steps) -> collatz(N - 1, collatz_steps(N, Steps)).

collatz_steps(1, Steps) -> Steps;
collatz_steps(N, Steps) when N band 1 =:= 0 -> collatz_steps(N div 2, Steps + 1);
collatz_steps(N, Steps) -> collatz_steps(3 * N + 1, Steps + 1).

quick([]) -> [];
quick([Pivot | Rest]) -> quick([X || X <- Rest, X < Pivot]) ++ [Pivot | quick([X || X <- Rest, X >= Pivot])].

%% All ways to put so many queens on a board, none in the way of another.
queens(N) -> place(N, N).

place(0, _) -> [[]];
place(Column, N) -> [[Row | Rest] || Rest <- place(Column - 1, N), Row <- lists:seq(1, N), is_safe(Row, Rest, 1)].

is_safe(_, [], _) -> true;
is_safe(Row, [Other | Rest], Far) ->
    Row =/= Other andalso abs(Row - Other) =/= Far andalso is_safe(Row, Rest, Far + 1).

primes(N) -> sieve(lists:seq(2, N), N).

sieve([P | Rest], N) when P * P =< N -> [P | sieve([X || X <- Rest, X rem P =/= 0], N)];
sieve(Rest, _) -> Rest.

fibonacci(N) when N < 2 -> N;
fibonacci(N) -> fibonacci(N - 1) + fibonacci(N - 2).

even(0) -> true;
even(N) -> odd(N - 1).

odd(0) -> false;
odd(N) -> even(N - 1).

body_sum([]) -> 0;
body_sum([X | Rest]) -> X + body_sum(Rest).

walk([], S) -> S;
walk([X | Rest], S) -> walk(Rest, S + X).

build(0, List) -> List;
build(N, List) -> build(N - 1, [N | List]).

triples(0, List) -> List;
triples(N, List) -> triples(N - 1, [{triple, N, N} | List]).

body_map([]) -> [];
body_map([X | Rest]) -> [X + 1 | body_map(Rest)].

tuples(0, T) -> T;
tuples(N, {A, B, C, D}) -> tuples(N - 1, {B, C, D, A}).

pairs([], S) -> S;
pairs([{N, a} | Rest], S) -> pairs(Rest, S + N);
pairs([_ | Rest], S) -> pairs(Rest, S).

tree(0) -> {number, 3};
tree(N) when N rem 2 =:= 0 -> {sum, tree(N - 1), tree(N - 1)};
tree(N) -> {difference, tree(N - 1), tree(N - 1)}.

evaluate({number, N}) -> N;
evaluate({sum, A, B}) -> evaluate(A) + evaluate(B);
evaluate({difference, A, B}) -> evaluate(A) - evaluate(B).

atoms(0) -> [];
atoms(N) -> [element(1 + N * 7 rem 5, {one, two, three, four, five}) | atoms(N - 1)].

classify([], S) -> S;
classify([A | Rest], S) ->
    case A of
        one -> classify(Rest, S + 1);
        two -> classify(Rest, S + 2);
        three -> classify(Rest, S - 1);
        four -> classify(Rest, S);
        _ -> classify(Rest, S + 5)
    end.

small_map(0, M) -> M;
small_map(N, #{a := A, b := B} = M) -> small_map(N - 1, M#{a := B, b := A, c => N}).

large_map(0, M) -> maps:size(M);
large_map(N, M) -> large_map(N - 1, M#{N rem 1000 => N}).

closures(0, _, X) -> X;
closures(N, F, X) -> closures(N - 1, F, F(X)).

big(0, A, _) -> A;
big(N, A, B) -> big(N - 1, A + N, (A + B) band 16#ffff).

big_product(0, _, A) -> A;
big_product(N, Factor, A) -> big_product(N - 1, Factor, (A * Factor + N) band 16#ffffffffff).

scattered(0, _, List) -> List;
scattered(N, X, List) -> scattered(N - 1, (X * 16807) rem 2147483647, [X | List]).

dictionary(0) -> get(a);
dictionary(N) -> put(a, N), _ = get(a), dictionary(N - 1).

built_ins(0, _) -> ok;
built_ins(N, List) ->
    _ = list_to_tuple(List),
    _ = abs(N),
    _ = erlang:max(N, 3),
    _ = is_process_alive(self()),
    built_ins(N - 1, List).

catches(0) -> ok;
catches(N) ->
    try thrown(N) catch throw:_ -> ok end,
    catches(N - 1).

thrown(N) when N rem 4 =:= 0 -> throw(N);
thrown(N) -> N.

compose(0, Binary) -> Binary;
compose(N, Binary) -> compose(N - 1, <<Binary/binary, N:16, 7>>).

parse(<<N:16, 7, Rest/binary>>, S) -> parse(Rest, S + N);
parse(<<>>, S) -> S.

%% So many rounds of garbage beside a list of so many cells that stays.
live(Cells, Rounds) ->
    List = lists:seq(1, Cells),
    live_rounds(Rounds, List).

live_rounds(0, List) -> hd(List);
live_rounds(N, List) ->
    _ = build(100, []),
    erlang:garbage_collect(),
    live_rounds(N - 1, List).

to_self(0) -> ok;
to_self(N) ->
    self() ! {item, N},
    receive {item, _} -> to_self(N - 1) end.

queue_up(0) -> ok;
queue_up(N) -> self() ! {item, self(), N}, queue_up(N - 1).

drain(0) -> ok;
drain(N) -> receive {item, _, _} -> drain(N - 1) end.

ping(N, Message) ->
    Self = self(),
    Other = spawn_link(fun() -> echo(N) end),
    pinging(N, Self, Other, Message).

pinging(0, _, _, _) -> ok;
pinging(N, Self, Other, Message) ->
    Other ! {Self, Message},
    receive {Other, _} -> pinging(N - 1, Self, Other, Message) end.

echo(0) -> ok;
echo(N) -> receive {From, Message} -> From ! {self(), Message}, echo(N - 1) end.

fan_in(Senders, Each, Item) ->
    Self = self(),
    [spawn_link(fun() -> send_each(Each, Self, Item) end) || _ <- lists:seq(1, Senders)],
    take(Senders * Each).

send_each(0, _, _) -> ok;
send_each(N, To, Item) -> To ! Item, send_each(N - 1, To, Item).

take(0) -> ok;
take(N) -> receive {item, _, _} -> take(N - 1); item -> take(N - 1) end.

fan_out(Receivers, Each, Item) ->
    Self = self(),
    Pids = [spawn_link(fun() -> take(Each), Self ! taken end) || _ <- lists:seq(1, Receivers)],
    times(Each, fun() -> [Pid ! Item || Pid <- Pids] end),
    [receive taken -> ok end || _ <- Pids],
    ok.

%% Each of some senders sends to each of as many receivers.
exchange(Size, Each) ->
    Self = self(),
    Pids = [spawn_link(fun() -> take(Size * Each), Self ! taken end) || _ <- lists:seq(1, Size)],
    [spawn_link(fun() -> times(Each, fun() -> [Pid ! {item, Self, Each} || Pid <- Pids] end) end) || _ <- Pids],
    [receive taken -> ok end || _ <- Pids],
    ok.

%% As fan_out, by a sender that goes first: all messages are on their way before one is received.
stacked(Receivers, Each, Item) ->
    process_flag(priority, high),
    fan_out(Receivers, Each, Item).

ring(Size, Hops) ->
    Self = self(),
    First = lists:foldl(fun(_, Next) -> spawn_link(fun() -> forward(Next) end) end, Self, lists:seq(1, Size - 1)),
    around(Hops div Size, First),
    First ! stop,
    receive stop -> ok end.

around(0, _) -> ok;
around(N, First) -> First ! {token, N}, receive {token, _} -> around(N - 1, First) end.

forward(Next) ->
    receive
        stop -> Next ! stop;
        Token -> Next ! Token, forward(Next)
    end.

server_calls(N) ->
    Server = spawn_link(fun() -> serve(0) end),
    times(N, fun() -> call(Server, {add, 1}) end),
    Server ! stop.

call(Server, Request) ->
    Monitor = monitor(process, Server),
    Server ! {call, {self(), Monitor}, Request},
    receive {Monitor, Reply} -> demonitor(Monitor, [flush]), Reply end.

serve(State) ->
    receive
        {call, {From, Reference}, {add, X}} -> From ! {Reference, State}, serve(State + X);
        stop -> ok
    end.

%% Two customers of a bank: requests of several kinds, which the bank tells apart.
accounts(N) ->
    Self = self(),
    Bank = spawn_link(fun() -> bank(0, 0) end),
    [spawn_link(fun() -> customer(N div 2, Bank, self()), Self ! taken end) || _ <- [1, 2]],
    [receive taken -> ok end || _ <- [1, 2]],
    Bank ! stop.

customer(0, _, _) -> ok;
customer(N, Bank, Self) when N rem 16 =:= 0 ->
    Bank ! {balance, Self},
    receive {is, _} -> customer(N - 1, Bank, Self) end;
customer(N, Bank, Self) when N * 7 rem 3 =:= 0 -> Bank ! {deposit, Self, N}, customer(N - 1, Bank, Self);
customer(N, Bank, Self) -> Bank ! {withdraw, Self, N}, customer(N - 1, Bank, Self).

bank(Balance, Count) ->
    receive
        {deposit, _, N} -> bank(Balance + N, Count + 1);
        {withdraw, _, N} -> bank(Balance - N, Count + 1);
        {balance, From} -> From ! {is, Balance}, bank(Balance, Count + 1);
        stop -> Count
    end.

linked(N) ->
    Self = self(),
    Pids = [spawn_link(fun() -> Self ! {done, self()} end) || _ <- lists:seq(1, N)],
    [receive {done, Pid} -> ok end || Pid <- Pids].

together(N, Do) ->
    Monitors = [element(2, spawn_monitor(Do)) || _ <- lists:seq(1, N)],
    [receive {'DOWN', Monitor, _, _, _} -> ok end || Monitor <- Monitors],
    ok.

ets_lookups(N) ->
    Table = ets:new(table, []),
    [ets:insert(Table, {Key, Key, a}) || Key <- lists:seq(0, 99)],
    looked_up(N, Table).

looked_up(0, Table) -> ets:delete(Table);
looked_up(N, Table) -> [{_, _, a}] = ets:lookup(Table, N rem 100), looked_up(N - 1, Table).

ets_inserts(N) ->
    Table = ets:new(table, []),
    inserted(N, Table).

inserted(0, Table) -> ets:delete(Table);
inserted(N, Table) -> ets:insert(Table, {N, [N]}), inserted(N - 1, Table).

ets_counters(N) ->
    Table = ets:new(table, [public]),
    ets:insert(Table, {counter, 0}),
    counted(N, Table).

counted(0, Table) -> ets:delete(Table);
counted(N, Table) -> ets:update_counter(Table, counter, 1), counted(N - 1, Table).
