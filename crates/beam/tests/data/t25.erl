%% Source of t25.beam (compiled by OTP 25.2.3): a little of most instructions.
-module(t25).
-export([area/1, parse/1, build/2, loop/1, safe/1, make_adder/1, keys/2, name/1, mean/2]).

-record(pt, {x = 0, y = 0}).

area({rect, W, H}) when is_number(W), is_number(H) -> W * H;
area(#pt{x = X, y = Y}) -> {X, Y};
area({circle, R}) -> 3.14159 * R * R.

parse(<<"hdr", N:16/little, Rest/binary>>) -> {N, Rest};
parse(<<C/utf8, _/bits>>) -> C;
parse(_) -> none.

build(A, B) -> <<A:32, "mid", B/binary, 7/utf8>>.

loop(State) ->
    receive
        {get, From} -> From ! {self(), State}, loop(State);
        stop -> ok
    after 5000 -> timeout
    end.

safe(F) ->
    try F() of
        ok -> 1;
        Other -> {other, Other}
    catch
        throw:T:S -> {thrown, T, S};
        error:_ -> error
    after
        erase(safe)
    end.

make_adder(N) -> fun(X) -> X + N end.

keys(#{a := A} = M, B) -> M#{b => B, a := A + 1};
keys(M, _) when map_size(M) =:= 0 -> catch error(empty).

name(mon) -> 1;
name(tue) -> 2;
name(wed) -> 123456789012345678901234567890;
name(X) -> case X of 1 -> one; 2 -> two; 3 -> "three" end.

mean(Xs, #pt{} = P) ->
    {lists:foldl(fun(X, S) -> X + S end, 0.0, Xs) / length(Xs), P#pt{y = 1}}.
