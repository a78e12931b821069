#!/usr/bin/env escript
%% Makes binary.etf beside it, as make.escript makes its files: calls in module binary with what OTP gives for them.

-mode(compile).

main(_) ->
    Dir = filename:dirname(escript:script_name()),
    rand:seed(exsss, 42),
    Calls = [call(C) || C <- lists:usort(parts() ++ numbers() ++ searches())],
    ok = file:write_file(filename:join(Dir, "binary.etf"), term_to_binary(Calls, [compressed])).

call({F, A}) ->
    Result = try apply(binary, F, A) of V -> {ok, V} catch error:R -> {error, R} end,
    {binary, F, A, Result}.

pick(L) -> lists:nth(rand:uniform(length(L)), L).

text(Most, Letters) -> << <<(pick(Letters))>> || _ <- lists:seq(1, rand:uniform(Most + 1) - 1)>>.

unaligned(B) -> <<_:3, Part/bits>> = <<5:3, B/bits>>, Part.

binaries() ->
    [a, 1, [], <<>>, <<7>>, <<1:3>>, <<1,2,1:3>>, <<"abc">>, binary:copy(<<"0123456789">>, 10), unaligned(<<"abc">>)].

integers() -> [a, -1, 0, 1, 2, 3, 4, 99, 100, 1.0, 1 bsl 61, 1 bsl 64, 1 bsl 80, -(1 bsl 61), -(1 bsl 80)].

parts() ->
    [{F, [B]} || F <- [first, last, copy, decode_unsigned, list_to_bin, compile_pattern], B <- [<<0>> | binaries()],
                 is_tuple(catch binary:compile_pattern(B)) =:= false orelse F =/= compile_pattern]
    ++ [{list_to_bin, [L]} || L <- [[1, [2 | <<3>>]], [1, [2 | 3]], [300], [<<1:3>>], [[[]]]]]
    ++ [{at, [B, I]} || B <- binaries(), I <- integers()]
    ++ [{copy, [B, I]} || B <- binaries(), I <- integers(), B =:= <<>> orelse not is_integer(I) orelse I < 1000]
    ++ [{part, [B, {I, J}]} || B <- binaries(), I <- integers(), J <- [-3, -2, -100 | integers()]]
    ++ [{part, [B, I, J]} || B <- binaries(), I <- integers(), J <- [-3, -2, -100 | integers()]]
    ++ [{part, [B, P]} || B <- binaries(), P <- [a, {}, {1}, {1, 1, 1}]]
    ++ [{F, [L]} || F <- [longest_common_prefix, longest_common_suffix],
                    L <- [a, [], [a], [<<>>], [<<"a">> | a], [<<"a">>, a], [<<>>, <<1:3>>], <<"a">>]
                        ++ [[text(6, "ab") || _ <- lists:seq(1, rand:uniform(3))] || _ <- lists:seq(1, 60)]].

numbers() ->
    Values = [rand:uniform(1 bsl N) - 1 || N <- [1, 8, 16, 59, 60, 61, 62, 63, 64, 65, 72, 127, 128, 129, 1000], _ <- [1, 2, 3]],
    [{encode_unsigned, [V | E]} || V <- Values ++ integers(), E <- [[], [big], [little], [foo], [1]]]
    ++ [{decode_unsigned, [B | E]} || B <- binaries() ++ [<<V:1064>> || V <- Values] ++ [binary:encode_unsigned(V) || V <- Values],
                                      E <- [[], [big], [little], [foo]]].

pattern() -> text(pick([1, 2, 4, 8]), pick(["a", "ab", "abc"])).

patterns() ->
    case rand:uniform(8) of
        N when N < 4 -> pattern();
        N when N < 8 -> [pattern() || _ <- lists:seq(1, rand:uniform(6))];
        8 -> pick([a, [], [<<"a">> | b], [<<"a">>, <<1:3>>], [<<"ab">>, []], {bm, make_ref()}, {}, <<1:3>>,
                   [unaligned(<<"ab">>), <<"b">>], unaligned(<<"ab">>)])
    end.

no_reference({bm, _}) -> {bm, 1};
no_reference(P) -> P.

option() ->
    case rand:uniform(12) of
        N when N < 8 -> {scope, {rand:uniform(30) - 3, rand:uniform(30) - 15}};
        8 -> pick([global, foo, {scope, a}, {scope, {0, 1 bsl 70}}, {scope, {1 bsl 60, -(1 bsl 60)}}, {scope, {0, 0, 0}}]);
        _ -> {scope, {0, pick([0, 1, 5])}}
    end.

options(Others) ->
    case rand:uniform(20) of
        1 -> pick([a, [option() | x]]);
        _ -> [O || O <- Others, rand:uniform(2) =:= 1] ++ [option() || rand:uniform(3) =:= 1]
    end.

subject() ->
    case rand:uniform(20) of
        1 -> pick([a, <<>>, <<"ab", 1:3>>, [<<"ab">>]]);
        2 -> unaligned(text(40, "ab"));
        3 -> text(300, "aabc");
        _ -> text(30, pick(["ab", "abc", "abcd"]))
    end.

searches() ->
    Cases = [{subject(), no_reference(patterns())} || _ <- lists:seq(1, 3000)],
    [{F, [S, P]} || {S, P} <- lists:sublist(Cases, 600), F <- [match, matches, split]]
    ++ [{pick([match, matches]), [S, P, options([])]} || {S, P} <- Cases]
    ++ [{split, [S, P, options([global, trim, trim_all])]} || {S, P} <- Cases].
