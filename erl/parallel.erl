%% Loops over data whose parts run on other cores when these ask for work (docs/parallel.md).
%%
%% A function here gives what its namesake in `lists` gives. A loop runs in its own process, as if there were no other core. On Myriad, a scheduler without
%% work has it hand over half of what is left of its outermost loop, which another process then does (Yasugi et al., Tascell); elsewhere a loop is cut into
%% as many pieces as there are schedulers when it begins (module `parallel_parts`, which Myriad has as built-in functions).
%%
%% A loop goes through pieces of its data in order. The first is the process's own; those that follow it (`After`) are parts that other processes do, by their
%% name, and `{Rest, N}`, which nobody has begun. Those before the one that runs (`Before`, the last one first) are parts, and `{done, Acc}`.
-module(parallel).
-export([map/2, map/3, foreach/2, foreach/3, filter/2, filter/3, filtermap/2, filtermap/3, flatmap/2, flatmap/3]).
-export([all/2, all/3, any/2, any/3, search/2, search/3, find_any/2, find_any/3, fold/4, fold/5]).
-export([sort/1, sort/2, sort/3, both/2, both/3, join/1, join/2]).
-export([loop/6, part/6]).

%% Elements that are sorted by one process at least.
-define(SORTED_AT_ONCE, 10000).

-type data(Element) :: [Element] | {seq, integer(), integer()} | tuple() | map().
-type options() :: #{max => non_neg_integer(), order => serial | any, steal => on_request | always | {seed, integer()},
                     grace => non_neg_integer()}.
-export_type([data/1, options/0]).

%% What a piece of a loop is to do, for whoever does it. (Crate `vm`, `parallel.rs`, knows the places of `order`, `max` and `grace`.)
-record(loop, {kind :: each | collect | fold | call,
               zero,                                     % what a piece begins with
               combine = none :: none | fun(),           % makes one of what two pieces have come to (`fold`)
               order = serial :: serial | any,
               max = infinity :: infinity | non_neg_integer(),
               grace = 100 :: non_neg_integer(),
               steal = on_request :: on_request | always | {seed, integer()}}).

%% ---- functions of `lists`

map(F, Data) -> map(F, Data, #{}).

map(F, Data, Options) when is_function(F, 1) -> run(F, Data, #loop{kind = collect, zero = []}, Options);
map(F, Data, Options) -> error(badarg, [F, Data, Options]).

foreach(F, Data) -> foreach(F, Data, #{}).

foreach(F, Data, Options) when is_function(F, 1) -> run(F, Data, #loop{kind = each, zero = ok}, Options);
foreach(F, Data, Options) -> error(badarg, [F, Data, Options]).

filter(F, Data) -> filter(F, Data, #{}).

filter(F, Data, Options) when is_function(F, 1) ->
    Step = fun(X, Acc) ->
                   case F(X) of
                       true -> [X | Acc];
                       false -> Acc;
                       Other -> error({bad_filter, Other})
                   end
           end,
    gather(Step, Data, Options);
filter(F, Data, Options) -> error(badarg, [F, Data, Options]).

filtermap(F, Data) -> filtermap(F, Data, #{}).

filtermap(F, Data, Options) when is_function(F, 1) ->
    Step = fun(X, Acc) ->
                   case F(X) of
                       true -> [X | Acc];
                       {true, Value} -> [Value | Acc];
                       false -> Acc
                   end
           end,
    gather(Step, Data, Options);
filtermap(F, Data, Options) -> error(badarg, [F, Data, Options]).

flatmap(F, Data) -> flatmap(F, Data, #{}).

% Put together from the last one on, as `lists` does: what is no list counts when all have been called.
flatmap(F, Data, Options) when is_function(F, 1) ->
    joined(lists:reverse(run(F, Data, #loop{kind = collect, zero = []}, Options)), []);
flatmap(F, Data, Options) -> error(badarg, [F, Data, Options]).

all(F, Data) -> all(F, Data, #{}).

all(F, Data, Options) when is_function(F, 1) ->
    stops(fun(X) -> case F(X) of true -> ok; false -> stop(false) end end, true, Data, Options);
all(F, Data, Options) -> error(badarg, [F, Data, Options]).

any(F, Data) -> any(F, Data, #{}).

any(F, Data, Options) when is_function(F, 1) ->
    stops(fun(X) -> case F(X) of true -> stop(true); false -> ok end end, false, Data, Options);
any(F, Data, Options) -> error(badarg, [F, Data, Options]).

search(F, Data) -> search(F, Data, #{}).

search(F, Data, Options) when is_function(F, 1) ->
    stops(fun(X) -> case F(X) of true -> stop({value, X}); false -> ok end end, false, Data, Options);
search(F, Data, Options) -> error(badarg, [F, Data, Options]).

%% As `search`, but the element that is found first in time.
find_any(F, Data) -> find_any(F, Data, #{}).

find_any(F, Data, Options) -> search(F, Data, Options#{order => any}).

sort(List) -> sort(List, #{}).

sort(List, Options) when is_list(List), is_map(Options) ->
    sorted(fun lists:sort/1, List, Options);
sort(F, List) -> sort(F, List, #{}).

sort(F, List, Options) when is_function(F, 2) -> sorted(fun(Part) -> lists:sort(F, Part) end, List, Options);
sort(F, List, Options) -> error(badarg, [F, List, Options]).

%% A sort makes use of what is in order already.
sorted(Sort, List, Options) ->
    case length(List) of
        N when N < 2 * ?SORTED_AT_ONCE -> Sort(List);
        N -> Sort(lists:append(map(Sort, chunks(List, N), Options)))
    end.

chunks(List, N) when N < 2 * ?SORTED_AT_ONCE -> [List];
chunks(List, N) ->
    {Chunk, Rest} = lists:split(?SORTED_AT_ONCE, List),
    [Chunk | chunks(Rest, N - ?SORTED_AT_ONCE)].

%% ---- others

%% Combine(... Combine(Combine(Zero, Map(X1)), Map(X2)) ..., Map(Xn)), if Combine is associative and Zero its neutral element; if not, some bracketing with
%% Zero at the beginning of each piece.
fold(Map, Combine, Zero, Data) -> fold(Map, Combine, Zero, Data, #{}).

fold(Map, Combine, Zero, Data, Options) when is_function(Map, 1), is_function(Combine, 2) ->
    run(fun(X, Acc) -> Combine(Acc, Map(X)) end, Data, #loop{kind = fold, zero = Zero, combine = Combine}, Options);
fold(Map, Combine, Zero, Data, Options) -> error(badarg, [Map, Combine, Zero, Data, Options]).

%% What both give.
both(F, G) when is_function(F, 0), is_function(G, 0) ->
    [B, A] = loop(none, [F, G], 2, #loop{kind = call, zero = []}, [], []),
    {A, B};
both(F, G) -> error(badarg, [F, G]).

both(F, G, Options) when is_function(F, 0), is_function(G, 0) ->
    [B, A] = run(none, [F, G], #loop{kind = call, zero = []}, Options),
    {A, B};
both(F, G, Options) -> error(badarg, [F, G, Options]).

%% What all of them give, in order.
join(Funs) -> join(Funs, #{}).

join(Funs, Options) when is_list(Funs) ->
    lists:all(fun(F) -> is_function(F, 0) end, Funs) orelse error(badarg, [Funs, Options]),
    lists:reverse(run(none, Funs, #loop{kind = call, zero = []}, Options));
join(Funs, Options) -> error(badarg, [Funs, Options]).

%% ---- loops that make a list, or stop early

%% A step puts something before what it has; the pieces come in order.
gather(Step, Data, Options) ->
    lists:reverse(run(Step, Data, #loop{kind = fold, zero = [], combine = fun(A, B) -> B ++ A end}, Options)).

%% The loop's result if no step stops it.
stops(Step, Otherwise, Data, Options) ->
    try run(Step, Data, #loop{kind = each, zero = ok}, Options) of
        ok -> Otherwise
    catch
        throw:{'$parallel_stop', Result} -> Result
    end.

-spec stop(term()) -> no_return().
stop(Result) -> throw({'$parallel_stop', Result}).

%% ---- a loop

run(F, Data, Loop, Options) ->
    {Rest, N} = elements(Data),
    start(F, Rest, N, with_options(Loop, Options)).

with_options(Loop, Options) when Options =:= #{} -> Loop;
with_options(Loop, Options) when is_map(Options) -> maps:fold(fun with_option/3, Loop, Options);
with_options(_, _) -> error(badarg).

with_option(max, Max, Loop) when is_integer(Max), Max >= 0 -> Loop#loop{max = Max};
with_option(order, Order, Loop) when Order =:= serial; Order =:= any -> Loop#loop{order = Order};
with_option(grace, Grace, Loop) when is_integer(Grace), Grace >= 0 -> Loop#loop{grace = Grace};
with_option(steal, {seed, Seed}, Loop) when is_integer(Seed) -> Loop#loop{steal = {seed, Seed}};
with_option(steal, When, Loop) when When =:= on_request; When =:= always -> Loop#loop{steal = When};
with_option(_, _, _) -> error(badarg).

start(F, Rest, N, #loop{steal = on_request} = Loop) -> loop(F, Rest, N, Loop, [], []);
start(F, Rest, N, Loop) ->
    {Kept, After} = cut(F, Rest, N, Loop, []),
    loop(F, Rest, Kept, Loop, [], After).

%% To test with: the second half becomes a part at once, or one that nobody has begun, then that of the first half; until one element is left.
cut(_, _, N, _, After) when N < 2 -> {N, After};
cut(F, Rest, N, Loop, After) ->
    Kept = N - N div 2,
    Behind = behind(Rest, Kept),
    cut(F, Rest, Kept, Loop, [piece(F, Behind, N - Kept, Loop) | After]).

piece(F, Rest, N, #loop{steal = Steal} = Loop) ->
    case is_cut(Steal, Rest, N) andalso parallel_parts:make(F, first(Rest, N), N, Loop) of
        Part when is_integer(Part) -> Part;
        _ -> {Rest, N}
    end.

% By nothing that differs between two runs.
is_cut(always, _, _) -> true;
is_cut({seed, Seed}, [X | _], N) -> erlang:phash2({Seed, N, X}, 2) =:= 0;
is_cut({seed, Seed}, From, N) -> erlang:phash2({Seed, N, From}, 2) =:= 0.

first(Rest, N) when is_list(Rest) -> lists:sublist(Rest, N);
first(From, _) -> From.

behind(Rest, N) when is_list(Rest) -> lists:nthtail(N, Rest);
behind(From, N) -> From + N.

elements(List) when is_list(List) -> {List, length(List)};
elements({seq, From, To}) when is_integer(From), is_integer(To) -> {From, max(0, To - From + 1)};
elements(Tuple) when is_tuple(Tuple) -> {tuple_to_list(Tuple), tuple_size(Tuple)};
elements(Map) when is_map(Map) -> {maps:to_list(Map), map_size(Map)};
elements(_) -> error(badarg).

%% A piece, which runs here. Whoever hands over a part of it writes what follows into `After` of this frame, and less into N of that of the step, which is
%% the one above: the engine knows what lies where in both (crate `vm`, `parallel.rs`).
loop(F, Rest, N, #loop{kind = Kind, zero = Zero} = Loop, Before, After) ->
    case parallel_parts:enter(N, Loop, Before, After) of
        ok ->
            try
                case Kind of
                    each -> each(F, Rest, N);
                    collect -> collected(F, Rest, N);
                    fold -> folded(F, Zero, Rest, N);
                    call -> called(Zero, Rest, N)
                end
            of
                Acc when Before =:= [], After =:= [] -> Acc;
                Acc -> go_on(F, Loop, [{done, Acc} | Before], After)
            catch
                Class:Reason:Trace -> failed(Class, Reason, Trace, Loop, Before, After)
            end;
        cut ->
            {Kept, Parts} = parallel_parts:cut(F, Rest, N, Loop, Loop#loop.max),
            loop(F, Rest, Kept, Loop, [], Parts)
    end.

%% What is left is the first N elements of a list, or N integers.
each(F, [X | Rest], N) when N > 0 ->
    F(X),
    each(F, Rest, N - 1);
each(F, From, N) when N > 0 ->
    F(From),
    each(F, From + 1, N - 1);
each(_, _, _) -> ok.

%% What comes of the elements, in order. While an element is done, its frame has what is left; below it is one for each element before it.
collected(F, [X | Rest], N) when N > 0 -> [F(X) | collected(F, Rest, N - 1)];
collected(F, From, N) when N > 0 -> [F(From) | collected(F, From + 1, N - 1)];
collected(_, _, _) -> [].

folded(F, Acc, [X | Rest], N) when N > 0 -> folded(F, F(X, Acc), Rest, N - 1);
folded(F, Acc, From, N) when N > 0 -> folded(F, F(From, Acc), From + 1, N - 1);
folded(_, Acc, _, _) -> Acc.

called(Acc, [F | Rest], N) when N > 0 -> called([F() | Acc], Rest, N - 1);
called(Acc, _, _) -> Acc.

go_on(F, Loop, Before, [{Rest, N} | After]) -> loop(F, Rest, N, Loop, Before, After);
go_on(F, Loop, Before, [Part | After]) -> go_on(F, Loop, [Part | Before], After);
go_on(_, Loop, Before, []) ->
    [First | Pieces] = lists:reverse(Before),
    parallel_parts:leave(),
    combined(Loop, result(First, Pieces), Pieces).

combined(_, Acc, []) -> Acc;
combined(#loop{kind = collect}, List, Pieces) -> lists_of(Pieces, [List]);
combined(#loop{kind = Kind, combine = Combine} = Loop, Acc, [Piece | Pieces]) ->
    Next = result(Piece, Pieces),
    Both = case Kind of
               each -> Acc;
               fold -> Combine(Acc, Next);
               _ -> Next ++ Acc
           end,
    combined(Loop, Both, Pieces).

%% The lists of pieces, behind these, of which the last one comes first, made one.
lists_of([], [Last | Before]) -> joined(Before, Last);
lists_of([Piece | Pieces], Lists) -> lists_of(Pieces, [result(Piece, Pieces) | Lists]).

joined(Lists, Behind) -> lists:foldl(fun(List, Acc) -> List ++ Acc end, Behind, Lists).

result({done, Acc}, _) -> Acc;
result(Part, Later) ->
    case parallel_parts:await(Part) of
        {ok, Acc} -> Acc;
        Exception ->
            parallel_parts:abort(Later),
            raise(Exception)
    end.

%% A step of the piece that runs has raised an exception; the loop raises this one, or that of a piece before it.
-spec failed(atom(), term(), list(), #loop{}, list(), list()) -> no_return().
failed(Class, Reason, Trace, _, [], []) -> erlang:raise(Class, Reason, Trace);
failed(Class, Reason, Trace, Loop, Before, After) ->
    parallel_parts:leave(),
    failed_among(Class, Reason, Trace, Loop, Before, After).

failed_among(exit, {parallel, aborted} = Reason, Trace, #loop{order = Order}, Before, After) ->
    case parallel_parts:stopped_by(Before, After) of
        none ->
            % Something around the loop is not wanted any more.
            abort(Before, After),
            erlang:raise(exit, Reason, Trace);
        Part when Order =:= any ->
            Exception = parallel_parts:await(Part),
            abort(Before, After),
            raise(Exception);
        _ -> earlier(exit, Reason, Trace, Before, After)
    end;
failed_among(Class, Reason, Trace, #loop{order = any}, Before, After) ->
    abort(Before, After),
    erlang:raise(Class, Reason, Trace);
failed_among(Class, Reason, Trace, _, Before, After) -> earlier(Class, Reason, Trace, Before, After).

abort(Before, After) ->
    parallel_parts:abort(Before),
    parallel_parts:abort(After).

earlier(Class, Reason, Trace, Before, After) ->
    parallel_parts:abort(After),
    first_exception(lists:reverse(Before)),
    erlang:raise(Class, Reason, Trace).

first_exception([]) -> ok;
first_exception([Piece | Pieces]) ->
    result(Piece, Pieces),
    first_exception(Pieces).

%% The trace of a part is its fun's; it goes on with that of the process that waits for it.
raise({Class, Reason, Trace}) ->
    {current_stacktrace, Here} = process_info(self(), current_stacktrace),
    Callers = lists:dropwhile(fun is_own/1, Here),
    erlang:raise(Class, Reason, lists:sublist(Trace ++ Callers, 8)).

is_own(Frame) -> element(1, Frame) =:= ?MODULE.

%% ---- a part, in the process that does it

part(F, Rest, N, Loop, Owner, Dictionary) ->
    [put(Key, Value) || {Key, Value} <- Dictionary, Key =/= rand_seed],
    [put(Key, [Owner | known(Key)]) || Key <- ['$callers', '$ancestors']],
    parallel_parts:report(outcome(F, Rest, N, Loop)).

known(Key) ->
    case get(Key) of
        List when is_list(List) -> List;
        _ -> []
    end.

outcome(F, Rest, N, Loop) ->
    try start(F, Rest, N, Loop) of
        Acc -> {ok, Acc}
    catch
        Class:Reason:Trace ->
            Frames = lists:reverse(lists:dropwhile(fun is_own/1, lists:reverse(Trace))),
            {Class, Reason, Frames}
    end.
