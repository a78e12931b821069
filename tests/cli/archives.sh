# Escripts that are archives, whole and broken; code in broken archives on the path; boot and configuration files of the wrong kind.
export ESCRIPT_EMULATOR=$ERL
escript=$(dirname "$ERL")/escript
cat >make.erl <<'E'
-module(make).
-export([main/0]).
main() ->
    Beam = fun(M, Text) -> {ok, _, B} = compile:forms(forms(Text), [deterministic]), {atom_to_list(M) ++ ".beam", B} end,
    Main = Beam(tool, "-module(tool). -export([main/1]). main(A) -> io:format(\"~p ~p~n\", [A, helper:f()])."),
    Helper = Beam(helper, "-module(helper). -export([f/0]). f() -> helped."),
    {ok, {_, Zip}} = zip:create("a", [{"tool/ebin/" ++ N, B} || {N, B} <- [Main, Helper]] ++ [{"other/ebin/none", <<>>}], [memory]),
    Make = fun(Name, Sections) -> {ok, B} = escript:create(binary, Sections), ok = file:write_file(Name, B), ok = file:change_mode(Name, 8#755), B end,
    Whole = Make("whole", [shebang, {emu_args, "-escript main tool"}, {archive, Zip}]),
    Make("other_name", [shebang, {archive, Zip}]),
    Make("no_such_main", [shebang, {emu_args, "-escript main nothing"}, {archive, Zip}]),
    Make("not_an_archive", [shebang, {emu_args, "-escript main tool"}, {archive, <<"PK\3\4 this is none">>}]),
    Make("empty_archive", [shebang, {emu_args, "-escript main tool"}, {archive, <<"PK\5\6", 0:144>>}]),
    Make("beam", [shebang, {beam, element(2, Main)}]),
    [ok = file:write_file("cut_" ++ integer_to_list(N), binary:part(Whole, 0, byte_size(Whole) * N div 100)) || N <- [5, 50, 99]],
    [ok = file:write_file("changed_" ++ integer_to_list(N), change(Whole, byte_size(Whole) * N div 100)) || N <- [20, 40, 98]],
    {P, _} = binary:match(Whole, <<"PK", 5, 6>>),
    ok = file:write_file("more", <<Whole/binary, "more bytes after the end">>),
    ok = file:write_file("offset", change(Whole, P + 16)),
    ok = file:write_file("beam_cut", begin {ok, B} = file:read_file("beam"), binary:part(B, 0, byte_size(B) - 100) end),
    ok = file:write_file("shebang_only", "#!/usr/bin/env escript\n"),
    ok = file:write_file("nothing", ""),
    ok = file:write_file("zeros", <<0:80000>>),
    ok = file:write_file("one_line", "main(_) -> io:format(\"x~n\")."),
    ok = file:write_file("long_line", ["#!/usr/bin/env escript\nmain(_) -> io:format(\"~w~n\", [length(\"", lists:duplicate(200000, $x), "\")])."]),
    ok = file:write_file("no_end", "#!/usr/bin/env escript\n%%! -escript\nmain(_) -> ("),
    ok = file:write_file("latin", ["#!/usr/bin/env escript\n%% -*- coding: utf-8 -*-\nmain(_) -> io:format(\"", 255, "\")."]),
    ok = file:write_file("code.ez", Zip),
    ok = file:write_file("cut.ez", binary:part(Zip, 0, byte_size(Zip) - 30)),
    ok = file:write_file("changed.ez", change(Zip, 80)).
change(B, N) -> <<A:N/binary, C, R/binary>> = B, <<A/binary, (C bxor 255), R/binary>>.
forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    [begin {ok, F} = erl_parse:parse_form(T), F end || T <- split(Tokens, [])].
split([], []) -> [];
split([{dot, _} = D | L], A) -> [lists:reverse([D | A]) | split(L, [])];
split([T | L], A) -> split(L, [T | A]).
E
"$(dirname "$ERL")/erlc" -W0 make.erl
"$ERL" -noshell -boot no_dot_erlang -s make main -s init stop </dev/null
for f in whole other_name no_such_main not_an_archive empty_archive beam cut_5 cut_50 cut_99 changed_20 changed_40 changed_98 more offset beam_cut shebang_only nothing zeros one_line long_line no_end latin . /dev/null; do
    timeout 30 "$escript" $f one two >out 2>&1 </dev/null; echo "$f: status $?"
    sed -e "s:$PWD:TMP:g" -e 's/<0\.[0-9]*\.0>/<pid>/g' out | tr -d '\r' | grep -a . | grep -av -e REPORT -e beam_load -e 'corrupt file header' -e 'Loading of' | cut -c1-140 | head -n 8
done
mkdir -p odd; cp whole "odd/a b"; timeout 30 "$escript" "odd/a b" x; ln -sf whole link; timeout 30 "$escript" ./link y
for z in code cut changed none; do
    "$ERL" -noshell -boot no_dot_erlang -pa "$PWD/$z.ez/tool/ebin" -eval 'io:format("~0p~n", [{catch helper:f(), code:which(helper) =/= non_existing, hd(code:get_path()) =/= "."}]), halt().' </dev/null 2>&1 | sed -e "s:$PWD:TMP:g" -e 's/,\[{.*\]}/,TRACE}/'
done
ERL_LIBS=$PWD "$ERL" -noshell -boot no_dot_erlang -eval 'io:format("~0p~n", [[filename:basename(P) || P <- code:get_path(), string:find(P, ".ez") =/= nomatch]]), halt().' </dev/null
