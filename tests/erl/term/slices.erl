%% Built-ins over long data give way: a process at high priority that asks for it runs meanwhile, results are right.
-module(slices).
-export([main/0]).

-define(LONG, 100_000).

main() ->
    L = lists:seq(1, ?LONG),
    Tuples = [{I, I} || I <- L],
    Text = binary_to_list(binary:copy(<<"abcdefghij">>, ?LONG div 10)),
    t:c(member, fun() -> [lists:member(X, L) || X <- [1, ?LONG, ?LONG + 1, ?LONG * 1.0]] end),
    t:c(member_improper, fun() -> try lists:member(x, L ++ y) catch error:R -> R end end),
    t:c(reverse, fun() -> R = lists:reverse(L, [z]), {hd(R), lists:last(R), length(R)} end),
    t:c(reverse_improper, fun() -> try lists:reverse(L ++ y) catch error:R -> R end end),
    t:each(key, [1, ?LONG, 0, ?LONG * 1.0], fun(K) -> {lists:keyfind(K, 1, Tuples), lists:keymember(K, 2, Tuples), lists:keysearch(K, 1, Tuples)} end),
    t:c(append, fun() -> A = L ++ L, {length(A), lists:sum(A), A =:= lists:append(L, L), length(L ++ t:id([])), tl(t:id([1]) ++ t:id(x))} end),
    t:c(append_improper, fun() -> try t:id(L ++ y) ++ L catch error:R -> R end end),
    t:c(subtract, fun() -> {L -- lists:reverse(tl(L)), length(L -- [1, 5]), length((L ++ L) -- L)} end),
    t:c(phash2, fun() -> [erlang:phash2(X) || X <- [L, Tuples, Text, maps:from_list(Tuples), {L, Text, L}, Text ++ [a], Text ++ b, tl(Text), tl(tl(Text)), tl(tl(tl(Text)))]] end),
    t:c(phash2_ranges, fun() -> [erlang:phash2(Tuples, N) || N <- [1, 1000, 1 bsl 27, 1 bsl 32]] end),
    t:c(maps, fun() -> M = maps:from_list(Tuples), {map_size(M), maps:get(777, M), lists:sum(maps:keys(M)), lists:sum(maps:values(M)), length(maps:to_list(M)), map_size(maps:merge(M, #{a => 1})), map_size(maps:from_keys(L, x))} end),
    t:c(unicode, fun() -> B = unicode:characters_to_binary([Text, 16#20ac | Text]), {byte_size(B), length(unicode:characters_to_list(B)), erts_debug:same(B, unicode:characters_to_binary(B))} end),
    t:c(unicode_errors, fun() -> B = unicode:characters_to_binary(Text), [begin {E, D, R} = unicode:F(<<B/binary, X/binary>>), {E, iolist_size(unicode:characters_to_binary(D)), R} end || F <- [characters_to_list, characters_to_binary], X <- [<<200>>, <<255, 1>>, <<16#e2, 16#82>>]] end),
    t:c(unicode_split, fun() -> B = binary:copy(<<"aé€𝄞"/utf8>>, ?LONG div 10), [begin <<X:N/binary, Y/binary>> = B, {byte_size(unicode:characters_to_binary([X, Y])), length(unicode:characters_to_list([X, [Y | <<>>]]))} end || N <- [3, 5, 20001, 39999, 40003]] end),
    t:c(others_run, fun() -> others_run([fun() -> lists:member(x, L) end, fun() -> lists:reverse(L) end, fun() -> lists:keyfind(x, 1, Tuples) end, fun() -> L ++ [] end, fun() -> erlang:phash2(Tuples) end, fun() -> unicode:characters_to_list(Text) end]) end).

%% While a process calls the functions again and again for some time, others get their turns.
others_run(Funs) ->
    Self = self(),
    [begin
         Worker = spawn(fun() -> forever(F) end),
         [Self ! {self(), I} || I <- lists:seq(1, 3)],
         [receive after 1 -> ok end || _ <- lists:seq(1, 3)],
         exit(Worker, kill),
         [receive {Self, I} -> I end || I <- lists:seq(1, 3)]
     end || F <- Funs].

forever(F) -> F(), forever(F).
