%% Random bit syntax, as text.
-module(gen_bits).
-export([construct/3, pattern/1, comprehension/3]).
-import(diff_terms, [n/1, pick/1, chance/1, many/2]).
-import(gen_expr, [expr/3, variable/0, typed/2, add/2]).

%% Builds a binary, or (`bits`) any bit string.
construct(What, Env, D) ->
    Segments = many(4, fun() -> segment(What, Env, D) end),
    ["<<", lists:join(", ", Segments), ">>"].

segment(What, Env, D) ->
    E = fun(T) -> ["(", expr(T, Env, D), ")"] end,
    case n(14) of
        N when N =< 5 -> [E(int), ":", width(What, Env), flags()];
        6 -> [E(int), ":", E(small), "/unit:", case What of bytes -> "8"; bits -> pick(["1", "3", "8"]) end];
        7 -> [E(num), ":", pick(["64", "32", "16"]), "/float", pick(["", "-little", "-native"])];
        8 -> [E(bin), "/binary"];
        9 -> [E(bin), ":", pick(["0", "1", "2", E(small)]), "/binary"];
        10 -> [E(int), "/", pick(["utf8", "utf16", "utf32", "utf16-little", "utf32-little"])];
        11 -> pick(["\"abc\"", "\"abc\"/utf16", "1, 2, 3", "16#10ffff/utf8", "1:64/little", "-1:24"]);
        12 when What =:= bits -> [E(bits), "/bits"];
        13 when What =:= bits -> [E(bits), ":", pick(["1", "5", E(small)]), "/bits"];
        _ -> E(small)
    end.

width(bytes, _) -> pick(["8", "8", "16", "24", "32", "40", "56", "64", "72", "0"]);
width(bits, Env) ->
    case typed(small, Env) of
        [_ | _] = Names -> pick([pick(Names), bits()]);
        [] -> bits()
    end.

bits() -> pick(["1", "2", "3", "4", "7", "8", "9", "12", "16", "17", "31", "32", "33", "59", "60", "61", "62", "63", "64", "65", "100"]).

flags() -> pick(["", "", "", "/signed", "/little", "/signed-little", "/big", "/native"]).

%% A pattern, and the variables that it binds.
pattern(Env) ->
    {Segments, Vars, _} = lists:foldl(fun(_, {Ss, Vs, Inner}) ->
        {S, New} = part(Inner),
        {[S | Ss], New ++ Vs, add(New, Inner)}
    end, {[], [], Env}, lists:seq(1, n(4))),
    {Tail, Last} = tail(),
    {["<<", lists:join(", ", lists:reverse(Segments) ++ Tail), ">>"], Last ++ Vars}.

tail() ->
    V = variable(),
    case n(8) of
        N when N =< 3 -> {[[V, "/bits"]], [{bits, V}]};
        N when N =< 5 -> {[[V, "/binary"]], [{bin, V}]};
        6 -> {[pick(["_/bits", "_/binary", "_/binary-unit:16", "_/binary-unit:4", "_/binary-unit:3"])], []};
        _ -> {[], []}
    end.

part(Env) ->
    V = variable(),
    case n(16) of
        N when N =< 6 -> {[V, ":", width(Env), flags()], [{int, V}]};
        7 -> {[V, pick(["", ":8", ":4/unsigned"])], [{small, V}]};
        8 -> {["_:", width(Env)], []};
        9 -> {[V, ":", pick(["64", "32", "16"]), "/float", pick(["", "-little"])], [{float, V}]};
        10 -> {[V, ":", pick(["0", "1", "2", small(Env)]), "/binary"], [{bin, V}]};
        11 -> {[V, ":", pick(["1", "3", "9", small(Env)]), "/bits"], [{bits, V}]};
        12 -> {[V, "/", pick(["utf8", "utf16", "utf32", "utf16-little"])], [{int, V}]};
        13 -> {["_/", pick(["utf8", "utf16", "utf32"])], []};
        14 -> {[pick(["0:1", "5:3", "0:8", "\"a\"", "\"te\"", "1:4/little", "255", "0:64", "-1:8/signed"])], []};
        15 -> {[V, ":", small(Env), "/unit:", pick(["2", "8"])], [{int, V}]};
        16 -> case typed(int, Env) of [_ | _] = Names -> {[pick(Names), ":", bits()], []}; [] -> {["_"], []} end
    end.

width(Env) -> pick([bits(), bits(), small(Env)]).

small(Env) ->
    case typed(small, Env) of
        [_ | _] = Names -> pick(Names);
        [] -> bits()
    end.

%% A bit string by comprehension, in pieces of so many bits.
comprehension(Bits, Env, D) ->
    V = variable(),
    case n(4) of
        1 -> ["<< <<(", expr(int, add([{int, V}], gen_expr:repeated(Env)), D), "):", Bits, ">> || ", V, " <- ", expr(ints, Env, D), " >>"];
        2 -> ["<< <<", V, ":", Bits, pick(["", "/little"]), ">> || <<", V, ":", pick(["8", "4", "16"]), pick(["", "/signed"]), ">> <= ", expr(bits, Env, D), ", ",
              gen_pattern:test(add([{int, V}], gen_expr:repeated(Env)), 1), " >>"];
        3 -> ["<< <<(", expr(int, add([{int, V}], gen_expr:repeated(Env)), D), "):", Bits, ">> || <<", V, ">> <= ", expr(bits, Env, D), " >>"];
        4 -> case Bits of
            "64" -> ["<< <<", V, "/float>> || ", V, " <- ", expr(list, Env, D), ", is_number(", V, ") >>"];
            _ -> ["<< <<", V, "/binary>> || ", V, " <- ", expr(list, Env, D), ", is_binary(", V, ") >>"]
        end
    end.
