%% Calls: recursion, closures, exceptions.
-module(native_calls).
-export([fib/1, tak/1, ackermann/1, hanoi/1, closures/1, exceptions/1]).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

%% Takeuchi's function in McCarthy's form.
tak(N) -> tak(N, N * 2 div 3, N div 3).

tak(X, Y, Z) when Y < X -> tak(tak(X - 1, Y, Z), tak(Y - 1, Z, X), tak(Z - 1, X, Y));
tak(_, _, Z) -> Z.

ackermann(N) -> ackermann(3, N).

ackermann(0, N) -> N + 1;
ackermann(M, 0) -> ackermann(M - 1, 1);
ackermann(M, N) -> ackermann(M - 1, ackermann(M, N - 1)).

%% The moves of a tower of N discs, folded into a number.
hanoi(N) -> hanoi(N, 1, 2, 3, 0).

hanoi(0, _, _, _, Sum) -> Sum;
hanoi(N, From, To, Over, Sum0) ->
    Sum1 = hanoi(N - 1, From, Over, To, Sum0),
    hanoi(N - 1, Over, To, From, (Sum1 * 3 + From * 4 + To) band 16#FFFFFFF).

%% Closures are made, kept in a list, composed, and called.
closures(N) ->
    Steps = [adder(1), scaler(3), chosen(fun even/1, adder(7), scaler(5)), adder(-2), fun(X) -> X band 16#FFFFF end],
    repeat(lists:foldl(fun compose/2, fun(X) -> X end, Steps), N, 1).

adder(K) -> fun(X) -> X + K end.

scaler(K) -> fun(X) -> X * K end.

chosen(Test, Yes, No) ->
    fun(X) ->
        case Test(X) of
            true -> Yes(X);
            false -> No(X)
        end
    end.

compose(F, G) -> fun(X) -> F(G(X)) end.

even(X) -> X band 1 =:= 0.

repeat(_, 0, X) -> X;
repeat(F, N, X) -> repeat(F, N - 1, F(X)).

%% Errors, throws and exits from some calls deep, caught by class, with a value that is computed where they are caught.
exceptions(N) -> exceptions(N, 0).

exceptions(0, Sum) -> Sum;
exceptions(N, Sum) ->
    Value =
        try deep(N band 7, N rem 5) of
            Result -> Result
        catch
            throw:{found, Result} -> Result + 1;
            error:badarith -> 2;
            exit:Reason -> length(Reason)
        after
            done(N)
        end,
    exceptions(N - 1, Sum + Value).

deep(0, 0) -> throw({found, 10});
deep(0, 1) -> 1 div zero(1);
deep(0, 2) -> exit([reason, two]);
deep(0, Kind) -> Kind;
deep(N, Kind) -> 1 + deep(N - 1, Kind).

zero(N) -> N - 1.

done(N) -> N.
