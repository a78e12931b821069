%% The functions that the differential test calls, with the kinds of their arguments.
%%
%% A kind is a name that arg/1 makes a random value of. Kinds whose size decides how much is allocated (count, shift and the
%% like) are never replaced by arbitrary integers.
-module(diff_calls).
-export([draw/0]).
-import(diff_terms, [n/1, pick/1, many/2, chance/1, term/0, term/1, key/0, int/0, small/0, number/0, bin/0, bits/0]).

%% A random call: {Module, Function, Arguments}.
draw() ->
    Table = table(),
    {M, Functions} = element(n(tuple_size(Table)), Table),
    {F, Kinds} = element(n(tuple_size(Functions)), Functions),
    Right = [arg(K) || K <- Kinds],
    Args = case n(10) of
        1 -> [case chance(40) of true -> wrong(K); false -> A end || {K, A} <- lists:zip(Kinds, Right)];
        N when N =< 3, Kinds =/= [] ->
            At = n(length(Kinds)),
            {Before, [_ | After]} = lists:split(At - 1, Right),
            Before ++ [wrong(lists:nth(At, Kinds)) | After];
        _ -> Right
    end,
    {M, F, related(M, F, Args)}.

%% Now and then arguments that have to do with each other: a key that is in the map, a part of the binary.
%% (How often something is repeated has to do with nothing.)
related(lists, duplicate, Args) -> Args;
related(_, _, [M, V]) when is_map(M), map_size(M) > 0, not is_map(V) -> either(V, fun() -> pick(maps:keys(M)) end, fun(K) -> [M, K] end);
related(_, _, [V, M]) when is_map(M), map_size(M) > 0 -> either(V, fun() -> pick(maps:keys(M)) end, fun(K) -> [K, M] end);
related(maps, _, [V, X, M]) when is_map(M), map_size(M) > 0 -> either(V, fun() -> pick(maps:keys(M)) end, fun(K) -> [K, X, M] end);
related(_, _, [V, L]) when is_list(L), L =/= [] -> either(V, fun() -> try pick(L) catch _:_ -> V end end, fun(K) -> [K, L] end);
related(_, F, [A, _]) when F =:= '--'; F =:= subtract; F =:= '=='; F =:= '=:='; F =:= '<'; F =:= cmp_term ->
    either(a, fun() -> A end, fun(a) -> [A, term()]; (B) -> [A, B] end);
related(_, _, [B, P | Rest] = Args) when is_binary(B), is_binary(P), byte_size(B) > 2 ->
    case chance(40) of
        true -> At = n(byte_size(B)) - 1, [B, binary:part(B, At, n(min(3, byte_size(B) - At))) | Rest];
        false -> Args
    end;
related(_, _, Args) -> Args.

either(Drawn, Related, Make) -> case chance(40) of true -> Make(Related()); false -> Make(Drawn) end.

wrong(Kind) when Kind =:= etf_input; Kind =:= trace_script; Kind =:= file_script ->
    %% It is wrong in ways of its own.
    arg(Kind);
wrong(Kind) when Kind =:= count; Kind =:= shift; Kind =:= size ->
    pick([a, -1, 1.5, <<>>, [], {}, "3", 0, #{}]);
wrong(small) ->
    %% Where a list begins, or a column: no huge number.
    case wrong(any) of N when is_integer(N), abs(N) > 1000 -> a; Other -> Other end;
wrong(_) ->
    case n(3) of 1 -> diff_terms:key(); 2 -> term(1); 3 -> term(2) end.

arg(etf_input) -> diff_etf:drawn();
arg(any) -> case n(4) of 1 -> key(); _ -> term() end;
arg(sendable) -> sendable();
arg(int) -> int();
arg(number) -> number();
arg(float) -> diff_terms:float();
arg(num2) -> case n(3) of 1 -> small(); _ -> number() end;
arg(small) -> small();
arg(index) -> n(8) - 1;
arg(count) -> case n(5) of 1 -> n(300); _ -> n(9) - 1 end;
arg(size) -> n(150) - 1;
arg(bitsize) -> n(40) - 1;
arg(shift) -> pick([n(20), -n(20), n(200), -n(500), 64, 63, 60, 61, 59, -1, 0, 1 bsl 62, -(1 bsl 62), 1 bsl 64, -(1 bsl 70)]);
arg(base) -> pick([2, 3, 8, 10, 16, 36, n(36), 37, 1, 0, -10]);
arg(atom) -> diff_terms:atom();
arg(bool) -> case n(8) of 1 -> key(); _ -> diff_terms:bool() end;
arg(key) -> key();
arg(list) -> diff_terms:proper();
arg(alist) -> case n(5) of 1 -> diff_terms:improper(); _ -> diff_terms:proper() end;
arg(lists) -> many(5, fun diff_terms:proper/0);
arg(sorted) -> lists:sort(diff_terms:proper());
arg(usorted) -> lists:usort(diff_terms:proper());
arg(ints) -> diff_terms:ints();
arg(numbers) -> many(10, fun diff_terms:number/0);
arg(pairs) -> diff_terms:pairs();
arg(strict_pairs) -> [{A, B} || {A, B} <- diff_terms:pairs()];
arg(tuples) -> case n(4) of 1 -> many(8, fun() -> {key(), key()} end); _ -> diff_terms:tuples() end;
arg(keyed) -> many(10, fun() -> {key(), small(), key()} end);
arg(tuple) -> diff_terms:tuple();
arg(map) -> diff_terms:map();
arg(bin) -> bin();
arg(bits) -> bits();
arg(fun1) -> case n(3) of 1 -> diff_terms:external_fun(1); _ -> known(1) end;
arg(fun2) -> case n(3) of 1 -> diff_terms:external_fun(2); _ -> known(2) end;
arg(fun3) -> case n(3) of 1 -> diff_terms:external_fun(3); _ -> known(3) end;
arg(func) -> diff_terms:external_fun(n(3));
arg(latin) -> case n(6) of 1 -> diff_terms:string(); _ -> diff_terms:latin() end;
arg(string) -> diff_terms:string();
arg(chardata) -> case n(3) of 1 -> plain(); _ -> diff_terms:chardata() end;
arg(ascii) -> plain();
arg(pattern) -> case n(4) of 1 -> diff_terms:chardata(); 2 -> diff_terms:word(); _ -> pick(["a", "b", " ", "ab", <<"a">>, ",", "\n", ""]) end;
arg(separators) -> many(3, fun() -> pick([$a, $\s, $,, "\r\n", $b, "e" ++ [16#301]]) end);
arg(text) -> diff_strings:text();
arg(mark) -> diff_strings:pattern();
arg(marks) -> diff_strings:separators();
arg(char) -> pick("ab \n,");
arg(utf) -> diff_terms:utf8();
arg(iodata) -> diff_terms:iodata();
arg(digits) -> digits();
arg(digits_bin) -> try list_to_binary(digits()) catch _:_ -> <<"12">> end;
arg(float_text) -> float_text();
arg(float_bin) -> try list_to_binary(float_text()) catch _:_ -> <<"1.0">> end;
arg(float_options) -> many(2, fun() -> pick([short, compact, {decimals, n(30) - 2}, {scientific, n(30) - 2}, {decimals, 254}, {scientific, 250}, {decimals, a}, x]) end);
arg(unit) -> pick([second, millisecond, microsecond, nanosecond, native, perf_counter, 1, 1000, n(5000), second]);
arg(encoding) -> pick([latin1, unicode, utf8, utf16, utf32, {utf16, little}, {utf16, big}, {utf32, little}, {utf32, big}]);
arg(atom_encoding) -> pick([latin1, utf8, unicode]);
arg(part) -> {n(12) - 2, n(16) - 8};
arg(patterns) -> case n(4) of 1 -> many(4, fun() -> diff_terms:text(n(3)) end); 2 -> diff_terms:text(n(3) - 1); 3 -> bin(); 4 -> [diff_terms:text(1), diff_terms:text(2)] end;
arg(bm_options) -> many(2, fun() -> pick([{scope, {n(8) - 2, n(10) - 4}}, x]) end);
arg(split_options) -> many(3, fun() -> pick([global, trim, trim_all, {scope, {n(5) - 1, n(10)}}, global, trim_all]) end);
arg(replace_options) -> many(2, fun() -> pick([global, {insert_replaced, n(4) - 1}, {insert_replaced, [0, n(3)]}, {scope, {1, n(10)}}, global]) end);
arg(endian) -> pick([big, little, native]);
arg(etf_options) -> many(2, fun() -> pick([{minor_version, 0}, {minor_version, 1}, {minor_version, 2}, deterministic, x]) end);
arg(decode_options) -> many(2, fun() -> pick([safe, used, used]) end);
arg(etf) -> etf();
arg(packet) -> pick([raw, 0, 1, 2, 4, line, asn1, cdr, sunrm, fcgi, tpkt, http, httph, http_bin, httph_bin, ssl_tls]);
arg(packet_data) -> packet_data();
arg(packet_options) -> many(2, fun() -> pick([{packet_size, n(40)}, {line_length, n(20)}, {line_delimiter, n(128)}, x]) end);
arg(date) -> {day(), clock()};
arg(only_date) -> day();
arg(seconds) -> int();
arg(regex) -> regex(3);
arg(generated) -> diff_patterns:pattern();
arg(pattern_options) -> diff_patterns:options();
arg(subjects) -> diff_patterns:subjects();
arg(trace_script) -> diff_trace:script();
arg(file_script) -> diff_files:script();
arg(print_term) -> diff_printing:term();
arg(print_options) -> diff_printing:options();
arg(print_chars) -> diff_printing:chars();
arg(print_columns) -> [n(60), pick([80, n(100), 0]), pick([-1, n(20)])];
arg(subject) -> case n(4) of 1 -> diff_terms:chardata(); 2 -> diff_terms:utf8(); _ -> diff_terms:text(n(25)) end;
arg(re_options) -> many(3, fun re_option/0);
arg(run_options) -> many(3, fun() -> case n(3) of 1 -> re_option(); _ -> re_run_option() end end);
arg(re_split_options) -> many(3, fun() -> pick([trim, group, {parts, n(5) - 1}, {return, list}, {return, binary}, {return, iodata}, unicode, caseless, x]) end);
arg(re_replacement) -> pick([<<"x">>, "<&>", "\\1", "\\g{1}-\\2", "", "\\&", <<"\\g1">>, "\\0", [diff_terms:text(3)]]);
arg(re_replace_options) -> many(3, fun() -> pick([global, global, {return, list}, {return, binary}, unicode, caseless, {offset, 1}]) end);
arg(format) -> format();
arg(format_args) -> many(4, fun() -> case n(4) of 1 -> arg(pick([chardata, atom, int, float, ascii])); _ -> term() end end);
arg(format_call) -> diff_formats:call();
arg(format_data) -> diff_formats:data();
arg(write_options) -> diff_formats:options();
arg(match_spec) -> spec();
arg(spec_term) -> pick([diff_terms:tuple(), {key(), small(), key()}, {small(), number()}, term()]);
arg(spec_list) -> many(5, fun() -> {key(), small(), key()} end);
arg(source) -> source();
arg(uri) -> pick(["http://a.b/c?d=e&f#g", "//x", "a:b", "http://[::1]:80/", "%41%zz", <<"http://u@h:1/"/utf8>>, diff_terms:text(), "ftp://x/%C3%A5"]);
arg(base64) -> case n(3) of 1 -> diff_terms:text(n(20)); 2 -> base64:encode(bin()); 3 -> [pick("ABCDabcd0123+/= \n") || _ <- lists:seq(1, n(20))] end;
arg(dict_fun) -> fun(A, B) -> {A, B} end;
arg(direction) -> pick([leading, trailing, both, all]);
arg(side) -> pick([leading, trailing, both, first]);
arg(frames) -> pick([[], [{m, f, 1, []}], a, [{m, f, [1], [{line, 3}]}], [a]]);
arg(class) -> pick([error, exit, throw, a]);
arg(bitkind) -> n(15);
arg(bitlist) -> many(6, fun() -> case n(4) of 1 -> bits(); _ -> bin() end end).

plain() -> [pick("abcABC 019,.\n") || _ <- lists:seq(1, n(15) - 1)].

known(1) -> pick([fun erlang:is_atom/1, fun(X) -> {X} end, fun(X) -> X end, fun(_) -> true end, fun(X) -> is_integer(X) end, fun(X) -> X > 2 end, fun(X) -> throw(X) end,
                  fun(X) -> [X, X] end, fun({K, _}) -> K; (X) -> X end, fun(X) -> {true, X} end]);
known(2) -> pick([fun(A, B) -> {A, B} end, fun(A, _) -> A end, fun(_, _) -> true end, fun(A, B) -> A =< B end, fun(A, B) -> A >= B end, fun(A, B) -> [A | B] end,
                  fun(A, B) -> A + B end, fun(A, _) -> is_atom(A) end]);
known(3) -> pick([fun(A, B, C) -> {A, B, C} end, fun(_, B, _) -> B end, fun(K, V, Acc) -> [{K, V} | Acc] end]).

digits() ->
    Digits = [pick("0123456789") || _ <- lists:seq(1, n(25))],
    case n(6) of
        1 -> "-" ++ Digits; 2 -> "+" ++ Digits; 3 -> Digits ++ pick(["x", " ", ".", "-", [1000], [a]]);
        4 -> [pick("0123456789abcdefxyzABCXYZ") || _ <- lists:seq(1, n(12))]; _ -> Digits
    end.

float_text() ->
    Part = fun(N) -> [pick("0123456789") || _ <- lists:seq(1, n(N))] end,
    case n(6) of
        1 -> Part(4) ++ "." ++ Part(3) ++ "e" ++ pick(["", "-", "+"]) ++ Part(3);
        2 -> pick(["-", "+", " ", ""]) ++ Part(20) ++ "." ++ Part(25);
        3 -> Part(3) ++ pick([".", "e5", ".e", "", ",5", ". 5"]);
        4 -> float_to_list(diff_terms:float());
        5 -> Part(2) ++ "." ++ Part(2) ++ pick(["x", " ", "e", "e1.0", "E5"]);
        6 -> Part(300) ++ "." ++ Part(5)
    end.

%% The external form of a local fun tells who made it, by a number that is each VM's own.
sendable() ->
    Term = term(),
    case local_fun(Term) of true -> sendable(); false -> Term end.

local_fun(F) when is_function(F) -> erlang:fun_info(F, type) =:= {type, local};
local_fun([H | T]) -> local_fun(H) orelse local_fun(T);
local_fun(T) when is_tuple(T) -> local_fun(tuple_to_list(T));
local_fun(M) when is_map(M) -> local_fun(maps:to_list(M));
local_fun(_) -> false.

%% External terms, whole and damaged. Damage never makes a length larger: only the end is cut and small bytes are changed.
etf() ->
    Whole = term_to_binary(sendable(), pick([[], [{minor_version, n(3) - 1}], [compressed]])),
    Size = byte_size(Whole),
    case n(4) of
        1 -> binary:part(Whole, 0, n(Size) - 1);
        2 when Size < 200 -> At = n(Size) - 1, <<A:At/binary, _, B/binary>> = Whole, <<A/binary, (n(127) - 1), B/binary>>;
        3 -> <<Whole/binary, (bin())/binary>>;
        _ -> Whole
    end.

packet_data() ->
    case n(6) of
        1 -> bin();
        2 -> <<0, 0, 0, (n(10)), (bin())/binary>>;
        3 -> <<(n(8)), (bin())/binary>>;
        4 -> iolist_to_binary([pick(["GET ", "POST ", "HTTP/1.", "FOO "]), pick(["/a/b ", "* ", "http://h:80/p ", "1 200 OK", "x"]), pick(["HTTP/1.1", "HTTP/1.0", ""]), pick(["\r\n", "\n", "", "\r\n\r\n"])]);
        5 -> iolist_to_binary([pick(["Host: ", "content-length:", "X-y-Z :", "Accept:\t", " folded", "\r\n", "Connection: "]), pick(["a", "close ", "12", ""]), pick(["\r\n", "\n", "\r\n more\r\n", "\r\nx"]), pick(["x", "", "\r\n"])]);
        6 -> iolist_to_binary([diff_terms:text(n(10)), pick(["\n", "\r\n", "", <<0>>]), diff_terms:text(n(4))])
    end.

day() -> {pick([1970, 2000, 2020, 1900, 0, n(3000), -1, 9999]), n(14) - 1, n(33) - 1}.
clock() -> {n(26) - 1, n(62) - 1, n(62) - 1}.

%% Patterns of short pieces, mostly well formed.
regex(0) -> pick(["a", "b", ".", "[a-c]", "\\d", "\\w", "c", "1", "[^a]", "\\s", "^", "$", "\\b", "é", "\\x61", "[[:alpha:]]", "\\D", ""]);
regex(Depth) ->
    R = fun() -> regex(Depth - 1) end,
    case n(14) of
        1 -> R() ++ R();
        2 -> "(" ++ R() ++ ")";
        3 -> R() ++ "|" ++ R();
        4 -> R() ++ pick(["*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{,2}", "*+", "??"]);
        5 -> "(?:" ++ R() ++ ")" ++ pick(["", "*", "+"]);
        6 -> "(?" ++ pick(["=", "!", "<=", "<!", "i:", ">", "|"]) ++ R() ++ ")";
        7 -> "(?<n>" ++ R() ++ ")" ++ R();
        8 -> "(" ++ R() ++ ")\\1";
        9 -> R() ++ pick([")", "(", "[", "\\", "{", "*", "(?", "\\p{L}", "\\K", "(?i)", "\\Qa.b\\E", "\\R", "\\X", "(?#c)", "\\h", "\\N"]);
        _ -> R() ++ R()
    end.

re_option() -> pick([unicode, caseless, multiline, dotall, anchored, extended, ungreedy, dollar_endonly, no_auto_capture, firstline, dupnames, ucp,
                     {newline, cr}, {newline, lf}, {newline, crlf}, {newline, anycrlf}, {newline, any}, bsr_anycrlf, bsr_unicode, no_start_optimize, x]).
re_run_option() -> pick([global, global, {capture, all}, {capture, first}, {capture, none}, {capture, all_but_first, list}, {capture, all, binary}, {capture, [0, 1, 2], list},
                         {capture, [n], binary}, {capture, all_names, list}, {capture, first, index}, {offset, n(8) - 1}, notbol, noteol, notempty, notempty_atstart, report_errors,
                         {match_limit, n(50)}, {match_limit_recursion, n(50)}]).

format() ->
    lists:append(many(4, fun() ->
        case n(5) of
            1 -> pick(["x", "~n", "~~", " ", "å", "ab"]);
            _ -> "~" ++ pick(["", "", "", "10", "-10", "3", "0", "*"]) ++ pick(["", "", "", ".2", ".10", ".*", ".0", "..x", ".3.0", "..*"]) ++ pick(["", "", "t", "l", "tl", "0"]) ++
                [pick("wpsWPbBxX+#efgcitnas")]
        end
    end)).

%% Match specifications: heads, guards and bodies of all kinds, sometimes wrong.
spec() -> many(2, fun() -> {head(), many(2, fun() -> guard(2) end), lists:append([[guard(2)], many(1, fun() -> guard(3) end)])} end).
head() -> pick(['$1', '_', {'$1', '$2', '$3'}, {'$1', '_', '$1'}, {key(), '$2', '_'}, {'$1', '$2'}, {'_', '$1', [a | '$2']}, '$_', #{a => '$1'}, {'$1', {'$2', '$3'}, '_'}, key(), {'$20', '$1', '_'}]).
var() -> pick(['$1', '$2', '$3', '$_', '$$', '$4', '$1', '$2']).
guard(0) -> pick([var(), var(), {const, term(1)}, small(), key(), true, false, {}, {self}, {{}}, [], {node}]);
guard(Depth) ->
    G = fun() -> guard(Depth - 1) end,
    case n(9) of
        1 -> {pick(['==', '=:=', '<', '>', '=<', '>=', '/=', '=/=']), G(), G()};
        2 -> {pick(['+', '-', '*', 'div', 'rem', '/', 'band', 'bor', 'bxor', 'bsr']), G(), G()};
        3 -> {pick(['and', 'or', 'xor', 'andalso', 'orelse']), G(), G()};
        4 -> {pick([is_atom, is_integer, is_float, is_list, is_tuple, is_map, is_binary, is_number, is_pid, is_function, 'not', is_boolean, is_reference, is_port]), G()};
        5 -> {pick([abs, hd, tl, length, size, element, map_size, byte_size, bit_size, round, trunc, float, 'bnot', '-', '+', ceil, floor, tuple_size, map_get, is_map_key, binary_part, max, foo, node]), G()};
        6 -> {element, G(), G()};
        7 -> {{G(), G()}};
        8 -> pick([[G(), G()], [G() | G()], #{a => G()}, {'andalso', G(), G(), G()}, {'orelse'}, {is_record, G(), a, 3}, {map_get, G(), G()}, {is_map_key, G(), G()}, {G(), G(), G()}, {return_trace}, {message, G()}]);
        9 -> G()
    end.

source() ->
    Text = fun() -> binary_to_list(diff_terms:text()) end,
    pick([lists:flatten(io_lib:format("~0tp.", [term()])), "foo(X, " ++ digits() ++ ") -> X + 1.", "\"" ++ Text() ++ "\".", Text(), "16#" ++ digits() ++ ".", "$\\x{" ++ digits() ++ "}.",
          "<<1:" ++ digits() ++ "/integer>>.", "#{a => " ++ float_text() ++ "}.", "fun(A) when A > 1 -> [B || B <- A] end.", "'" ++ Text() ++ "'.", "% c\n a.", "{a, [b | " ++ Text() ++ "]}."]).

table() ->
    case get(table) of
        undefined ->
            Only = os:getenv("DIFF_ONLY", ""),
            Table = list_to_tuple([{M, list_to_tuple(Fs)} || {M, Fs} <- functions(), Only =:= "" orelse atom_to_list(M) =:= Only]),
            put(table, Table),
            Table;
        Table -> Table
    end.

%% Modules with many built-ins stand several times, to be drawn more often.
functions() ->
    Erlang = erlang(),
    Syntax = [{F, Kinds} || {F, Kinds} <- syntax()],
    [{erlang, Erlang}, {erlang, Erlang}, {erlang, Erlang}, {erlang, Erlang}, {diff_syntax, Syntax}, {diff_syntax, Syntax}, {diff_syntax, Syntax},
     {lists, lists_()}, {lists, lists_()}, {maps, maps_()}, {maps, maps_()}, {binary, binary_()}, {binary, binary_()}, {string, string_()}, {string, diff_strings:functions()},
     {unicode, unicode_()}, {unicode, unicode_()}, {re, re_()}, {re, re_()}, {diff_etf, [{read, [etf_input]}]}, {diff_patterns, [{tried, [generated, pattern_options, subjects]}]}, {diff_trace, [{traced, [trace_script]}]},
     {diff_files, [{used, [file_script]}]},
     {diff_printing, [{printed, [print_term, print_options]}, {printed, [print_term, print_options]}, {sorted, [print_term, print_columns]}, {texts, [print_chars, atom]}]}, {math, math_()}, {io_lib, io_lib_()}, {io_lib, io_lib_()},
     {diff_formats, formats()}, {ets, ets_()}] ++ others().

erlang() ->
    Ops2 = [{Op, [num2, num2]} || Op <- ['+', '-', '*', '/', 'div', 'rem', 'band', 'bor', 'bxor']] ++
           [{Op, [any, any]} || Op <- ['==', '=:=', '/=', '=/=', '<', '>', '=<', '>=']] ++ [{Op, [bool, bool]} || Op <- ['and', 'or', 'xor']],
    Tests = [{T, [any]} || T <- [is_atom, is_binary, is_bitstring, is_boolean, is_float, is_function, is_integer, is_list, is_map, is_number, is_pid, is_port, is_reference, is_tuple]],
    Ops2 ++ Tests ++
    [{'bsl', [int, shift]}, {'bsr', [int, shift]}, {'not', [bool]}, {'bnot', [int]}, {'+', [number]}, {'-', [number]}, {'++', [list, any]}, {'++', [list, list]}, {'--', [list, list]}, {'--', [ints, ints]},
     {abs, [number]}, {adler32, [iodata]}, {adler32, [int, iodata]}, {adler32_combine, [int, int, size]}, {append_element, [tuple, any]}, {apply, [func, list]},
     {atom_to_binary, [atom]}, {atom_to_binary, [atom, atom_encoding]}, {atom_to_list, [atom]}, {binary_part, [bin, part]}, {binary_part, [bin, index, small]},
     {binary_to_atom, [utf, atom_encoding]}, {binary_to_existing_atom, [utf, atom_encoding]}, {binary_to_float, [float_bin]}, {binary_to_integer, [digits_bin]}, {binary_to_integer, [digits_bin, base]},
     {binary_to_list, [bin]}, {binary_to_list, [bin, index, index]}, {binary_to_term, [etf]}, {binary_to_term, [etf, decode_options]}, {bit_size, [bits]}, {bitstring_to_list, [bits]}, {byte_size, [bits]},
     {ceil, [number]}, {floor, [number]}, {round, [number]}, {trunc, [number]}, {float, [number]}, {crc32, [iodata]}, {crc32, [int, iodata]}, {crc32_combine, [int, int, size]},
     {decode_packet, [packet, packet_data, packet_options]}, {decode_packet, [packet, packet_data, packet_options]}, {delete_element, [index, tuple]}, {element, [index, tuple]}, {external_size, [any]},
     {float_to_binary, [float]}, {float_to_binary, [float, float_options]}, {float_to_list, [float]}, {float_to_list, [float, float_options]}, {fun_info, [func]}, {fun_info, [func, atom]},
     {fun_to_list, [func]}, {function_exported, [atom, atom, index]}, {hd, [alist]}, {tl, [alist]}, {insert_element, [index, tuple, any]}, {integer_to_binary, [int]}, {integer_to_binary, [int, base]},
     {integer_to_list, [int]}, {integer_to_list, [int, base]}, {iolist_size, [iodata]}, {iolist_to_binary, [iodata]}, {is_builtin, [atom, atom, index]}, {is_function, [any, index]},
     {is_map_key, [key, map]}, {is_record, [tuple, atom]}, {is_record, [tuple, atom, index]}, {length, [alist]}, {list_to_atom, [latin]}, {list_to_binary, [iodata]}, {list_to_bitstring, [iodata]},
     {list_to_existing_atom, [latin]}, {list_to_float, [float_text]}, {list_to_integer, [digits]}, {list_to_integer, [digits, base]}, {list_to_tuple, [alist]}, {make_fun, [atom, atom, index]},
     {make_tuple, [count, any]}, {make_tuple, [count, any, tuples]}, {map_get, [key, map]}, {map_size, [map]}, {match_spec_test, [spec_term, match_spec, atom]}, {max, [any, any]}, {min, [any, any]},
     {md5, [iodata]}, {phash, [any, int]}, {phash2, [any]}, {phash2, [any, int]}, {setelement, [index, tuple, any]}, {size, [any]}, {split_binary, [bin, index]}, {raise, [class, any, frames]},
     {error, [any]}, {error, [any, list]}, {throw, [any]}, {exit, [any]}, {nif_error, [any]},
     {tuple_size, [tuple]}, {tuple_to_list, [tuple]}, {term_to_binary, [sendable]}, {term_to_binary, [sendable, etf_options]}, {term_to_iovec, [sendable]}, {convert_time_unit, [int, unit, unit]},
     {universaltime_to_posixtime, [date]}, {posixtime_to_universaltime, [seconds]}, {localtime_to_universaltime, [date]}, {list_to_pid, [ascii]}, {pid_to_list, [any]}, {ref_to_list, [any]},
     {iolist_to_iovec, [ascii]}, {bitstring_to_list, [bits]}, {list_to_ref, [ascii]}, {port_to_list, [any]}].

lists_() ->
    [{member, [key, alist]}, {reverse, [list]}, {reverse, [list, any]}, {keyfind, [key, index, tuples]}, {keymember, [key, index, tuples]}, {keysearch, [key, index, tuples]}, {append, [lists]}, {append, [list, any]},
     {subtract, [list, list]}, {sort, [list]}, {sort, [numbers]}, {usort, [list]}, {sort, [fun2, list]}, {usort, [fun2, list]}, {umerge, [usorted, usorted]}, {merge, [sorted, sorted]}, {merge, [lists]}, {umerge, [lists]},
     {keysort, [index, keyed]}, {ukeysort, [index, keyed]}, {keymerge, [index, keyed, keyed]}, {keyreplace, [key, index, keyed, tuple]}, {keystore, [key, index, keyed, tuple]}, {keytake, [key, index, keyed]},
     {keydelete, [key, index, keyed]}, {keymap, [fun1, index, keyed]}, {max, [list]}, {min, [list]}, {sum, [numbers]}, {seq, [small, count]}, {seq, [small, count, small]}, {duplicate, [count, any]}, {last, [list]}, {nth, [index, list]},
     {nthtail, [index, list]}, {sublist, [list, index]}, {sublist, [list, index, index]}, {split, [index, list]}, {splitwith, [fun1, list]}, {partition, [fun1, list]}, {prefix, [list, list]}, {suffix, [list, list]},
     {zip, [list, list]}, {zip3, [list, list, list]}, {unzip, [pairs]}, {unzip3, [keyed]}, {zipwith, [fun2, list, list]}, {map, [fun1, list]}, {flatmap, [fun1, list]}, {filter, [fun1, list]}, {filtermap, [fun1, list]}, {foldl, [fun2, any, list]},
     {foldr, [fun2, any, list]}, {mapfoldl, [fun2, any, list]}, {all, [fun1, list]}, {any, [fun1, list]}, {dropwhile, [fun1, list]}, {takewhile, [fun1, list]}, {delete, [key, list]}, {flatten, [any]}, {flatten, [lists, list]}, {flatlength, [lists]},
     {join, [any, list]}, {concat, [list]}, {enumerate, [list]}, {uniq, [list]}, {uniq, [fun1, list]}, {droplast, [list]}, {search, [fun1, list]}, {foreach, [fun1, list]}, {rkeymerge, [index, keyed, keyed]}, {merge3, [sorted, sorted, sorted]}].

maps_() ->
    [{find, [key, map]}, {get, [key, map]}, {get, [key, map, any]}, {put, [key, any, map]}, {update, [key, any, map]}, {remove, [key, map]}, {take, [key, map]}, {merge, [map, map]}, {keys, [map]}, {values, [map]},
     {to_list, [map]}, {from_list, [pairs]}, {from_list, [strict_pairs]}, {from_keys, [list, any]}, {is_key, [key, map]}, {size, [map]}, {new, []}, {fold, [fun3, any, map]}, {map, [fun2, map]}, {filter, [fun2, map]}, {filtermap, [fun2, map]},
     {foreach, [fun2, map]}, {update_with, [key, fun1, map]}, {update_with, [key, fun1, any, map]}, {with, [list, map]}, {without, [list, map]}, {merge_with, [fun3, map, map]}, {intersect, [map, map]}, {intersect_with, [fun3, map, map]},
     {groups_from_list, [fun1, list]}, {groups_from_list, [fun1, fun1, list]}, {iterator, [map]}, {next, [any]}].

binary_() ->
    [{at, [bin, index]}, {first, [bin]}, {last, [bin]}, {bin_to_list, [bin]}, {bin_to_list, [bin, part]}, {bin_to_list, [bin, index, small]}, {list_to_bin, [iodata]}, {copy, [bin]}, {copy, [bin, count]}, {part, [bin, part]},
     {part, [bin, index, small]}, {decode_unsigned, [bin]}, {decode_unsigned, [bin, endian]}, {encode_unsigned, [int]}, {encode_unsigned, [int, endian]}, {longest_common_prefix, [patterns]}, {longest_common_suffix, [patterns]},
     {match, [bin, patterns]}, {match, [bin, patterns, bm_options]}, {matches, [bin, patterns]}, {matches, [bin, patterns, bm_options]}, {split, [bin, patterns]}, {split, [bin, patterns, split_options]}, {replace, [bin, patterns, bin]},
     {replace, [bin, patterns, bin, replace_options]}, {compile_pattern, [patterns]}, {encode_hex, [bin]}, {decode_hex, [bin]}].

string_() ->
    [{length, [chardata]}, {to_graphemes, [chardata]}, {uppercase, [chardata]}, {lowercase, [chardata]}, {titlecase, [chardata]}, {casefold, [chardata]}, {equal, [chardata, chardata]}, {equal, [chardata, chardata, bool]},
     {equal, [chardata, chardata, bool, atom]}, {find, [chardata, pattern]}, {find, [chardata, pattern, direction]}, {split, [chardata, pattern]}, {split, [chardata, pattern, direction]}, {replace, [chardata, pattern, chardata]},
     {replace, [chardata, pattern, chardata, direction]}, {lexemes, [chardata, separators]}, {nth_lexeme, [chardata, index, separators]}, {pad, [chardata, size]}, {pad, [chardata, size, side]}, {pad, [chardata, size, side, pattern]},
     {trim, [chardata]}, {trim, [chardata, side]}, {trim, [chardata, side, separators]}, {slice, [chardata, index]}, {slice, [chardata, index, index]}, {prefix, [chardata, pattern]}, {reverse, [chardata]}, {is_empty, [chardata]},
     {next_codepoint, [chardata]}, {next_grapheme, [chardata]}, {take, [chardata, separators]}, {take, [chardata, separators, bool, side]}, {to_integer, [digits]}, {to_float, [float_text]}, {to_integer, [chardata]}, {jaro_similarity, [ascii, ascii]},
     {tokens, [ascii, ascii]}, {strip, [ascii]}, {str, [ascii, pattern]}, {rstr, [ascii, pattern]}, {chr, [ascii, small]}, {substr, [ascii, index]}, {to_upper, [string]}, {to_lower, [string]}, {centre, [ascii, size]}, {left, [ascii, size]}, {copies, [ascii, count]},
     {span, [ascii, pattern]}, {cspan, [ascii, pattern]}, {words, [ascii]}, {join, [lists, ascii]}, {concat, [ascii, any]}].

unicode_() ->
    [{characters_to_binary, [chardata]}, {characters_to_binary, [chardata, encoding]}, {characters_to_binary, [chardata, encoding, encoding]}, {characters_to_list, [chardata]}, {characters_to_list, [chardata, encoding]},
     {characters_to_list, [iodata, encoding]}, {characters_to_nfc_list, [chardata]}, {characters_to_nfd_binary, [chardata]}, {characters_to_nfkc_binary, [chardata]}, {characters_to_nfkd_list, [chardata]}, {bin_is_7bit, [any]}, {bom_to_encoding, [bin]},
     {encoding_to_bom, [encoding]}].

re_() ->
    [{compile, [regex, re_options]}, {run, [subject, regex]}, {run, [subject, regex, run_options]}, {run, [subject, regex, run_options]}, {split, [subject, regex]}, {split, [subject, regex, re_split_options]}, {replace, [subject, regex, re_replacement]},
     {replace, [subject, regex, re_replacement, re_replace_options]}, {inspect, [any, atom]}].

math_() ->
    [{F, [number]} || F <- [ceil, floor, sqrt, erf, erfc, exp, log, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh]] ++ [{F, [number, number]} || F <- [pow, fmod, atan2]].

io_lib_() ->
    [{format, [format, format_args]}, {format, [format, format_args]}, {fwrite, [format, format_args]}, {write, [any]}, {write, [any, index]}, {print, [any]}, {print, [any, size, size, small]}, {write_atom, [atom]}, {write_string, [string]}, {write_char, [small]},
     {fread, [format, ascii]}, {printable_list, [any]}, {printable_unicode_list, [any]}, {latin1_char_list, [any]}, {char_list, [any]}, {deep_char_list, [any]}, {scan_format, [format, format_args]}, {quote_atom, [atom, list]}, {format_prompt, [any]}].

formats() ->
    [{formatted, [format_call]}, {formatted, [format_call]}, {formatted, [format_call]}, {built, [format_call]}, {written, [format_data, write_options]}, {limited, [format_call, count]}].

ets_() ->
    [{test_ms, [spec_term, match_spec]}, {test_ms, [spec_term, match_spec]}, {is_compiled_ms, [any]}, {match_spec_compile, [match_spec]}].

syntax() ->
    [{F, [num2, num2]} || F <- [add, sub, mul, fdiv, idiv, irem, bitand, bitor, bitxor, chain, chain2]] ++
    [{F, [any, any]} || F <- [lt, le, gt, ge, eq, ne, same, other, guards, match, receive_]] ++ [{F, [bool, bool]} || F <- [conj, disj, excl, also, orelse_]] ++
    [{F, [map, key]} || F <- [guards]] ++ [{F, [tuple, any]} || F <- [guards, tuple_update]] ++ [{guards, [bits, index]}, {guards, [list, index]}, {guards, [number, number]}, {guards, [func, index]}] ++
    [{shiftl, [int, shift]}, {shiftr, [int, shift]}, {plusplus, [list, any]}, {minus, [list, list]}, {neg, [number]}, {plus, [number]}, {inv, [int]}, {not_, [bool]}, {consts, [number]}, {consts, [int]}, {types, [any]}, {select, [any]}, {select, [bits]}, {select, [list]},
     {select, [key]}, {put_, [key, any, map]}, {update, [key, any, map]}, {put_two, [key, any, map]}, {get_, [key, map]}, {get_or, [key, map]}, {call, [fun1, any]}, {call2, [fun2, any, any]}, {apply_, [atom, atom, list]}, {caught, [fun1, any]},
     {build, [bitkind, any, bitsize]}, {build, [bitkind, number, bitsize]}, {build, [bitkind, bits, bitsize]}, {take, [bitkind, bits, bitsize]}, {take, [bitkind, bin, bitsize]}, {fixed, [number]}, {fixed, [bits]}, {fixed, [any]}, {fixed_match, [bits]},
     {fixed_match, [bin]}, {fixed_match, [utf]}, {frames, [bits]}, {bytes, [bits]}, {pack, [ints]}, {utf, [utf]}, {append, [bits, bitlist]}].

others() ->
    [{base64, [{encode, [bin]}, {decode, [base64]}, {mime_decode, [base64]}, {encode_to_string, [latin]}, {decode_to_string, [base64]}]},
     {erts_internal, [{cmp_term, [any, any]}, {cmp_term, [number, number]}]},
     {uri_string, [{parse, [uri]}, {normalize, [uri]}, {percent_decode, [uri]}, {quote, [chardata]}, {unquote, [uri]}, {dissect_query, [uri]}]},
     {ordsets, [{from_list, [list]}, {union, [usorted, usorted]}, {subtract, [usorted, usorted]}, {intersection, [usorted, usorted]}, {is_element, [key, usorted]}]},
     {orddict, [{from_list, [strict_pairs]}, {store, [key, any, strict_pairs]}]},
     {proplists, [{get_value, [key, pairs]}, {get_all_values, [key, pairs]}, {compact, [pairs]}, {to_map, [pairs]}, {unfold, [list]}]},
     {calendar, [{date_to_gregorian_days, [only_date]}, {day_of_the_week, [only_date]}, {valid_date, [only_date]}, {datetime_to_gregorian_seconds, [date]}, {gregorian_seconds_to_datetime, [seconds]}, {iso_week_number, [only_date]}, {seconds_to_daystime, [int]}]},
     {erl_scan, [{string, [source]}, {string, [source]}, {reserved_word, [atom]}]},
     {queue, [{from_list, [list]}, {in, [any, any]}, {to_list, [any]}]},
     {filename, [{join, [chardata, chardata]}, {basename, [chardata]}, {dirname, [chardata]}, {extension, [chardata]}, {split, [chardata]}, {flatten, [list]}, {rootname, [chardata]}, {absname, [ascii, ascii]}]},
     {zlib, [{crc32, [any]}, {uncompress, [bin]}, {gunzip, [bin]}]}].
