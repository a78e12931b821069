%% Integers, small ones and big ones.
-module(native_numbers).
-export([factorial/1, pi_digits/1, collatz/1]).

%% N factorial, one factor at a time, and the sum of what its digits in base 10^9 come to.
factorial(N) -> sum(product(N, 1), 0).

product(0, Product) -> Product;
product(N, Product) -> product(N - 1, N * Product).

sum(0, Sum) -> Sum;
sum(N, Sum) -> sum(N div 1000000000, (Sum + N rem 1000000000) band 16#FFFFFFF).

%% The first N digits of pi by Gibbons' spigot ("Unbounded Spigot Algorithms for the Digits of Pi", 2006), folded into a number.
pi_digits(N) -> digits(N, 1, 0, 1, 1, 0).

digits(0, _, _, _, _, Hash) -> Hash;
digits(Left, Q, R, T, K, Hash) ->
    Digit = (3 * Q + R) div T,
    case (4 * Q + R) div T of
        Digit -> digits(Left - 1, 10 * Q, 10 * (R - Digit * T), T, K, (Hash * 31 + Digit) band 16#FFFFFFF);
        _ -> digits(Left, Q * K, (2 * Q + R) * (2 * K + 1), T * (2 * K + 1), K + 1, Hash)
    end.

%% The longest way to 1 from a number up to N, and where it begins.
collatz(N) -> longest(N, 0, 0).

longest(0, Most, At) -> {Most, At};
longest(N, Most, At) ->
    case way(N, 0) of
        Steps when Steps > Most -> longest(N - 1, Steps, N);
        _ -> longest(N - 1, Most, At)
    end.

way(1, Steps) -> Steps;
way(N, Steps) when N band 1 =:= 0 -> way(N bsr 1, Steps + 1);
way(N, Steps) -> way(3 * N + 1, Steps + 1).
