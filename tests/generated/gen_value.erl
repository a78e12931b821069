%% Values of the types that generated programs know: as terms, which become arguments, and as text, which becomes constants.
%%
%% The types: int, float, num, atom, bool, list, ints, tuple, bin, bits, map, rec, fun1 (of one argument), any; `small` is an integer
%% that may be a size or a length, never more than some hundreds; `fuel` and `deep` bound recursion.
%%
%% Numbers lie near the edges of representations: where small integers end (2^59 on OTP, 2^60 on Myriad), and where floats stop being
%% immediate on Myriad (2^-255, 2^257, and zero).
-module(gen_value).
-export([argument/1, constant/1, scalar/1, key/0, other/1]).
-import(diff_terms, [n/1, pick/1, chance/1, many/2]).

%% An argument for a parameter of the type: now and then one of another type, but no large integer where a size is wanted.
argument(fuel) -> n(5) - 1;
argument(deep) -> case n(6) of 1 -> 200 + n(1500); _ -> n(40) - 1 end;
argument(Type) ->
    case n(10) of
        1 -> term(other(Type));
        _ -> term(Type)
    end.

%% Another type. Nothing that takes a `small` gets an `int`.
other(small) -> pick([float, atom, list, tuple, bin, map]);
other(_) -> pick([small, int, float, atom, list, tuple, bin, bits, map, rec, fun1]).

term(small) -> n(24) - 4;
term(int) -> int();
term(float) -> float();
term(num) -> case n(3) of 1 -> float(); _ -> int() end;
term(atom) -> pick([a, b, ok, error, true, undefined, 'an atom', []]);
term(bool) -> chance(50);
term(ints) -> many(8, fun() -> case n(4) of 1 -> int(); _ -> n(300) - 20 end end);
term(list) ->
    case n(6) of
        1 -> "characters";
        2 -> many(7, fun() -> {diff_terms:key(), int()} end);
        3 -> many(5, fun() -> term(any) end) ++ improper;
        4 -> term(ints);
        _ -> many(6, fun() -> term(any) end)
    end;
term(tuple) -> list_to_tuple(many(5, fun() -> term(any) end));
term(bin) -> diff_terms:bin();
term(bits) -> case n(3) of 1 -> term(bin); _ -> diff_terms:bits() end;
term(map) ->
    case n(8) of
        1 -> maps:from_list([{I, I * 1.0} || I <- lists:seq(1, 30 + n(20))]);
        _ -> maps:from_list(many(5, fun() -> {pick(keys()), term(any)} end))
    end;
term(rec) -> case n(2) of 1 -> {r1, term(any), int()}; 2 -> {r2, term(list), term(any), float(), a, term(any)} end;
term(fun1) ->
    Kept = pick([1, a, 2.5]),
    pick([fun erlang:abs/1, fun erlang:hd/1, fun lists:reverse/1, fun erlang:is_atom/1, fun(X) -> {X, Kept} end, fun(X) -> X + 1 end, fun(_, X) -> X end]);
term(any) ->
    case n(14) of
        1 -> pick([[], {}, #{}, <<>>, 0, 0.0]);
        2 -> {a, pick([[1], b, <<"c">>])};
        3 -> [int(), float()];
        4 -> self();
        N when N < 8 -> term(pick([int, atom, float]));
        _ -> term(pick([small, int, float, atom, bin, bits, map, tuple, list, ints]))
    end.

int() ->
    case n(6) of
        1 -> n(10) - 4;
        2 -> n(1000) - 300;
        3 -> n(1 bsl 62) - (1 bsl 61);
        _ ->
            Power = 1 bsl pick([7, 8, 16, 26, 27, 28, 31, 32, 53, 58, 59, 59, 59, 60, 60, 60, 60, 61, 62, 63, 64, 65, 120]),
            pick([1, -1]) * (Power + n(5) - 3)
    end.

float() ->
    case n(5) of
        1 -> pick([0.0, -0.0, 1.0, -1.0, 0.1, 1.5, 3.0e10, 1.0e22, 1.0e23]);
        2 -> (n(2000) - 1000) / 8;
        _ ->
            Exponent = pick([-255, -255, -256, -254, 255, 256, 256, 257, 257, 258, 0, 1, 30, 52, 53, 58, 59, 60, 63, 64, -1022, 1023, 511, -511]),
            <<F/float>> = <<(n(2) - 1):1, (1023 + Exponent):11, (pick([0, 0, 1, (1 bsl 52) - 1, n(1 bsl 51)])):52>>,
            F
    end.

keys() -> [a, b, c, 1, 2, 1.0, 0.0, <<"k">>, {x}, "s", [], 1 bsl 59, 1 bsl 60, -(1 bsl 60)].

%% The text of a key that maps are likely to have.
key() -> text(pick(keys())).

%% The text of a constant that may stand in a pattern and in a guard.
scalar(small) -> text(term(small));
scalar(num) -> scalar(pick([int, float]));
scalar(bool) -> pick(["true", "false"]);
scalar(atom) -> pick(["a", "b", "ok", "error", "true", "undefined", "'an atom'"]);
scalar(Type) when Type =:= int; Type =:= float -> text(term(Type));
scalar(_) -> scalar(pick([small, int, float, atom])).

%% The text of a constant expression.
constant(any) -> constant(pick([small, int, int, float, atom, list, tuple, bin, map]));
constant(list) -> pick(["[]", "[a, 1, {b}]", "\"text\"", "[1.0 | x]", "[{a, 1}, {b, 2}]", "[[], [1]]"]);
constant(ints) -> ["[", lists:join(", ", many(5, fun() -> scalar(int) end)), "]"];
constant(tuple) -> pick(["{}", "{a, 1}", "{ok, []}", "{1, 2.0, <<\"3\">>}", "{{}, {a}, b, c}"]);
constant(bin) -> pick(["<<>>", "<<\"abc\">>", "<<1, 2, 255>>", "<<\"text that is longer than a small one, much longer, even longer: sixty-four bytes\">>", "<<-1:64>>"]);
constant(bits) -> pick(["<<5:3>>", "<<1:1, 0:10>>", "<<-1:61>>", "<<\"abc\", 1:7>>", "<<>>"]);
constant(map) -> pick(["#{}", "#{a => 1}", "#{a => [], 1 => b, 1.0 => c}", "#{b => #{a => 0}, {x} => y}"]);
constant(rec) -> pick(["#r1{}", "#r1{a = 1}", "#r2{}", "#r2{y = [], w = {}}"]);
constant(fun1) -> pick(["fun erlang:abs/1", "fun lists:reverse/1", "fun erlang:tuple_size/1", "fun(X) -> {X} end", "fun(X) -> X end", "fun([X | _]) -> X end"]);
constant(Type) -> scalar(Type).

%% The text of a term that has one. What is negative stands in parentheses.
text(N) when is_number(N), N < 0 -> io_lib:format("(~w)", [N]);
text(T) -> io_lib:format("~w", [T]).
