#!/usr/bin/env escript
%% Makes the files *.etf beside it: calls of built-in functions with what OTP gives for them, as external terms.
%% Run it with the OTP release that is the measure; crates/bif/src/vectors.rs compares.

-mode(compile).

main(_) ->
    Dir = filename:dirname(escript:script_name()),
    rand:seed(exsss, 42),
    [ok = file:write_file(filename:join(Dir, Name ++ ".etf"), term_to_binary([call(C) || C <- Calls], [compressed]))
     || {Name, Calls} <- [{"iolists", iolists()}, {"unicode", unicode()}]].

call({M, F, A}) ->
    Result = try apply(M, F, A) of V -> {ok, V} catch error:R -> {error, R} end,
    {M, F, A, Result}.

pick(L) -> lists:nth(rand:uniform(length(L)), L).

iolist(0) -> pick([<<>>, <<1,2,3>>, [], 5, 255, <<"0123456789012345678901234567890123456789012345678901234567890123456789">>]);
iolist(N) ->
    L = [iolist(N - 1) || _ <- lists:seq(1, rand:uniform(4) - 1)],
    case rand:uniform(12) of
        1 -> L ++ pick([<<9>>, <<>>, <<1:3>>, a, 3]);
        2 -> [pick([256, -1, a, 1.5, <<5:3>>, {}, 1 bsl 70]) | L];
        _ -> L
    end.

iolists() ->
    [{erlang, F, [L]} || F <- [iolist_size, iolist_to_binary, list_to_binary, list_to_bitstring],
                         L <- [a, 1, <<1>>, <<1:3>>, [], [1|2]] ++ [iolist(rand:uniform(4)) || _ <- lists:seq(1, 150)]]
    ++ [{erlang, F, [B]} || F <- [binary_to_list, bitstring_to_list], B <- [a, [], <<>>, <<1,2>>, <<1,2,5:3>>, <<3:7>>]]
    ++ [{erlang, binary_to_list, [B, X, Y]} || B <- [<<>>, <<1,2,3>>, <<1,2,3,1:1>>], X <- [0, 1, 2, 3, 4, -1, a], Y <- [0, 1, 3, 4]]
    ++ [{erlang, split_binary, [B, X]} || B <- [<<>>, <<1,2,3>>, <<1,2,3,1:1>>, a, <<0:800>>], X <- [0, 1, 2, 3, 4, -1, a, 50, 1 bsl 70]]
    ++ [{erlang, iolist_to_iovec, [B]} || B <- [[], <<>>, [<<>>], [1, 2, <<3>>], a, [1|2], [<<1:3>>], <<1:3>>]].

piece() ->
    pick([<<206>>, <<206,187>>, <<187>>, <<240,159,152,128>>, <<240,159>>, <<152,128>>, <<240>>, <<128>>, <<224,128>>, <<193>>,
          <<237,160,128>>, <<244,144>>, <<245>>, <<248>>, <<255>>, <<"abc">>, <<>>, <<"a",206>>, <<"a",206,187,240,159>>,
          <<128,"x">>, <<226,130>>, <<172>>, <<65,255,66>>, $a, 955, 233, 128512, 55296, 1114111, 1114112, -1, 255, 256, 1 bsl 80]).
good() ->
    pick([<<206,187>>, <<240,159,152,128>>, <<206>>, <<187>>, <<240,159>>, <<152,128>>, <<226>>, <<130,172>>, $a, 955, <<>>, []]).

chardata(0, P) -> P();
chardata(N, P) ->
    L = [chardata(pick([0, N - 1]), P) || _ <- lists:seq(1, rand:uniform(4) - 1)],
    case rand:uniform(10) of
        1 -> L ++ case P() of B when is_binary(B) -> B; _ -> [] end;
        2 -> case rand:uniform(8) of 1 -> L ++ pick([a, [a], 1, [<<1:3>>], [{}]]); _ -> [L] end;
        _ -> L
    end.

unicode() ->
    Data = [a, 1, <<1:3>>, <<65,1:3>>, <<>>, [], <<"abc">>, <<206,187>>, <<206>>]
        ++ [chardata(rand:uniform(3), fun piece/0) || _ <- lists:seq(1, 700)]
        ++ [chardata(rand:uniform(3), fun good/0) || _ <- lists:seq(1, 700)],
    [{unicode, F, [D, E]} || D <- Data, F <- [characters_to_binary, characters_to_list], E <- [unicode, latin1]]
    ++ [{unicode, characters_to_list, [[<<"x">>], utf8]}]
    ++ [{unicode, bin_is_7bit, [D]} || D <- [a, [], <<>>, <<1,127>>, <<1,128>>, <<1,1:3>>]]
    ++ [{prim_file, F, [D]} || F <- [internal_name2native, internal_native2name, is_translatable],
                               D <- [<<1,0,2>>, a, 1, [], [0], [$a|$b], ["ab", [955], $c]] ++ lists:sublist(Data, 100),
                               %% OTP reads past the end here.
                               not (is_bitstring(D) andalso not is_binary(D))].
