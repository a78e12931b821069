%% Texts that are long, deep, broken or shared many times over, and numbers in formats that are out of bounds: answers as OTP's, in
%% bounded time.
-module(hostile_texts).
-export([main/0]).

main() ->
    t:mute(),
    Big = binary:copy(<<"ab">>, 2000000),
    [t:c(list_to_atom(Name), fun() -> alone(Fun) end) || {Name, Fun} <- cases(Big)].

%% In a process of its own, which sends what it comes to, long texts as lengths and hashes.
alone(Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({result, try {ok, sum(Fun())} catch C:R -> {C, sum(R)} end}) end),
    receive {'DOWN', Monitor, process, Pid, {result, Result}} -> Result after 60000 -> exit(Pid, kill), late end.

sum(X) when is_list(X), length(X) > 40 -> {list, length(X), erlang:phash2(X)};
sum(X) when is_binary(X), byte_size(X) > 40 -> {bin, byte_size(X), erlang:md5(X)};
sum(X) when is_tuple(X) -> list_to_tuple([sum(E) || E <- tuple_to_list(X)]);
sum(X) -> X.

dup(N, X) -> lists:duplicate(N, X).
nest(0, X) -> X;
nest(N, X) -> nest(N - 1, [X]).
tup(0, X) -> X;
tup(N, X) -> tup(N - 1, {X}).
share(0, X) -> X;
share(N, X) -> share(N - 1, [X, X]).
flat(X) -> lists:flatten(X).

cases(Big) ->
    [
     {"uni_deep", fun() -> unicode:characters_to_list(nest(1000000, $a)) end},
     {"uni_deep_binary", fun() -> unicode:characters_to_binary(nest(1000000, <<"a">>)) end},
     {"uni_shared", fun() -> byte_size(unicode:characters_to_binary(share(20, "ab"))) end},
     {"uni_long_list", fun() -> unicode:characters_to_binary(dup(3000000, 16#20AC)) end},
     {"uni_bad_late", fun() -> {error, B, R} = unicode:characters_to_binary(dup(1000000, 16#20AC) ++ [16#D800 | dup(1000000, $a)]), {byte_size(B), length(lists:flatten([R]))} end},
     {"uni_incomplete", fun() -> {incomplete, L, R} = unicode:characters_to_list([binary:copy(<<"a">>, 1000000), <<16#E2>>, <<16#82>>]), {length(L), R} end},
     {"uni_improper", fun() -> unicode:characters_to_list([$a | $b]) end},
     {"uni_improper_bin", fun() -> unicode:characters_to_list([$a | <<"b">>]) end},
     {"uni_big_int", fun() -> unicode:characters_to_list([1 bsl 70]) end},
     {"uni_nfc_marks", fun() -> length(unicode:characters_to_nfc_list([$a | dup(20000, 16#301)])) end},
     {"uni_nfd", fun() -> length(unicode:characters_to_nfd_list(dup(100000, 16#1E9B))) end},
     {"uni_nfkc_bin", fun() -> byte_size(unicode:characters_to_nfkc_binary(dup(30000, 16#FDFA))) end},
     {"uni_hangul", fun() -> length(unicode:characters_to_nfc_list(lists:flatten(dup(50000, [16#1100, 16#1161, 16#11A8])))) end},
     {"uni_utf16", fun() -> unicode:characters_to_binary(binary:copy(<<16#D800:16>>, 1000), {utf16, big}, utf8) end},
     {"string_grapheme_marks", fun() -> string:length([$a | dup(100000, 16#301)]) end},
     {"string_reverse", fun() -> length(string:reverse(dup(300000, $a))) end},
     {"string_flags", fun() -> string:length(dup(100000, 16#1F1E6)) end},
     {"string_zwj", fun() -> string:length(lists:flatten(dup(30000, [16#1F468, 16#200D]))) end},
     {"string_pad", fun() -> length(lists:flatten(string:pad("a", 1000000, both))) end},
     {"string_split_all", fun() -> length(string:split(dup(300000, $a), "a", all)) end},
     {"string_replace", fun() -> length(lists:flatten(string:replace(dup(300000, $a), "a", "bb", all))) end},
     {"string_lexemes", fun() -> length(string:lexemes(dup(300000, $a), "a")) end},
     {"string_casefold", fun() -> length(string:casefold(dup(300000, 16#DF))) end},
     {"format_width", fun() -> length(flat(io_lib:format("~1000000s", ["a"]))) end},
     {"format_width_neg", fun() -> length(flat(io_lib:format("~-1000000s", ["a"]))) end},
     {"format_width_star_neg", fun() -> flat(io_lib:format("~*s", [-5, "a"])) end},
     {"format_precision", fun() -> length(flat(io_lib:format("~.1000000s", ["a"]))) end},
     {"format_f_precision", fun() -> length(flat(io_lib:format("~.1000f", [1.0e300]))) end},
     {"format_f_precision_big", fun() -> length(flat(io_lib:format("~.100000f", [1.5]))) end},
     {"format_e_precision", fun() -> length(flat(io_lib:format("~.1000e", [1.0e300]))) end},
     {"format_g_precision", fun() -> flat(io_lib:format("~.300g", [1.0e-300])) end},
     {"format_base", fun() -> io_lib:format("~.37b", [5]) end},
     {"format_base_1", fun() -> io_lib:format("~.1B", [5]) end},
     {"format_big_b", fun() -> length(flat(io_lib:format("~.2b", [1 bsl 100000]))) end},
     {"format_n", fun() -> length(flat(io_lib:format("~1000000n", []))) end},
     {"format_c", fun() -> length(flat(io_lib:format("~1000000c", [$a]))) end},
     {"format_c_bad", fun() -> io_lib:format("~tc", [1 bsl 40]) end},
     {"format_w_deep", fun() -> length(flat(io_lib:format("~w", [nest(300000, a)]))) end},
     {"format_p_deep", fun() -> length(flat(io_lib:format("~p", [nest(2000, a)]))) end},
     {"format_p_deep_tuples", fun() -> length(flat(io_lib:format("~p", [tup(2000, a)]))) end},
     {"format_p_wide", fun() -> length(flat(io_lib:format("~p", [lists:seq(1, 100000)]))) end},
     {"format_w_shared", fun() -> length(flat(io_lib:format("~w", [share(17, a)]))) end},
     {"format_limited", fun() -> length(flat(io_lib:format("~p", [share(40, a)], [{chars_limit, 1000}]))) end},
     {"format_limited_tp", fun() -> length(flat(io_lib:format("~tp ~tw ~ts", [share(40, "x"), share(40, a), nest(40, "abc")], [{chars_limit, 500}]))) end},
     {"format_few_args", fun() -> io_lib:format(t:id("~p~p"), [1]) end},
     {"format_junk", fun() -> io_lib:format(dup(100000, $~), []) end},
     {"format_improper", fun() -> io_lib:format([$a | $b], []) end},
     {"fread_width", fun() -> io_lib:fread("~1000000s", dup(100000, $a)) end},
     {"fread_digits", fun() -> {ok, [I], []} = io_lib:fread("~d", dup(50000, $9)), I rem 1000007 end},
     {"fread_base", fun() -> io_lib:fread("~36u", dup(1000, $z)) end},
     {"fread_huge_base", fun() -> io_lib:fread("~99999999u", "5") end},
     {"list_to_float_long", fun() -> list_to_float(dup(100000, $9) ++ ".0") end},
     {"list_to_float_digits", fun() -> list_to_float("0." ++ dup(100000, $9)) end},
     {"list_to_float_exp", fun() -> list_to_float("1.0e" ++ dup(100000, $9)) end},
     {"binary_to_float_exp", fun() -> binary_to_float(<<"1.0e-99999999999999999999">>) end},
     {"float_to_list_dec", fun() -> float_to_list(1.0e300, [{decimals, 253}]) end},
     {"float_to_list_dec_bad", fun() -> float_to_list(1.0, [{decimals, 254}]) end},
     {"float_to_list_sci", fun() -> float_to_list(1.0e300, [{scientific, 249}]) end},
     {"float_to_list_opts", fun() -> float_to_list(1.0, [{decimals, 1 bsl 70}]) end},
     {"list_to_integer_long", fun() -> list_to_integer(dup(200000, $9)) rem 1000007 end},
     {"binary_to_integer_base", fun() -> binary_to_integer(binary:copy(<<"z">>, 100000), 36) rem 1000007 end},
     {"integer_to_list_long", fun() -> length(integer_to_list(1 bsl 1000000)) end},
     {"list_to_atom_long", fun() -> list_to_atom(dup(256, $a)) end},
     {"write_string", fun() -> length(io_lib:write_string(dup(500000, 16#10FFFF))) end},
     {"printable_deep", fun() -> io_lib:printable_unicode_list(dup(1000000, $a) ++ [1 bsl 40]) end},
     {"iolist_deep", fun() -> iolist_size(nest(1000000, <<"a">>)) end},
     {"iolist_shared", fun() -> iolist_size(share(22, <<"ab">>)) end},
     {"flatten_shared", fun() -> length(lists:flatten(share(20, a))) end},
     {"bin_matches", fun() -> length(binary:matches(Big, [<<"ab">>, <<"ba">>, <<"a">>])) end},
     {"bin_replace", fun() -> byte_size(binary:replace(Big, <<"a">>, <<"xyz">>, [global])) end},
     {"bin_split", fun() -> length(binary:split(Big, <<"b">>, [global])) end}
    ].
