%% Libraries of C code that cannot be loaded: what load_nif/2 and erl_ddll say of them.
-module(libraries).
-export([main/0]).

main() ->
    Dir = t:tmp("libraries"),
    In = fun(Name) -> filename:join(Dir, Name) end,
    ok = file:write_file(In("text.so"), "this is no library"),
    ok = file:write_file(In("long.so"), lists:duplicate(100, "this is no library")),
    ok = file:write_file(In("empty.so"), ""),
    ok = file:make_dir(In("directory.so")),
    ok = file:make_symlink("loop.so", In("loop.so")),
    ok = file:write_file(In("pi\x{3c0}.so"), "this is no library"),
    Names = ["absent", "directory", "text", "long", "empty", "loop", "text/x", lists:duplicate(300, $a), "ab\x{20ac}", "pi\x{3c0}"],
    t:each("load_nif", Names, fun(Name) -> within(Dir, erlang:load_nif(In(Name), 0)) end),
    t:each("load_nif of", ["nosuch", "", [Dir, $/, "text"], list_to_binary(In("text")), <<255, 254>>, absent, [1 | 2], [-1], [16#d800], "a\0b"],
           fun(Name) -> within(Dir, erlang:load_nif(Name, 0)) end),
    t:each("try_load", Names, fun(Name) -> explained(erl_ddll:try_load(In(filename:dirname(Name)), unicode:characters_to_binary(filename:basename(Name)), [])) end),
    t:each("load_driver", [absent, "text", 1, [1000], ["a", <<"b">>]], fun(Name) -> explained(erl_ddll:load_driver(Dir, Name)) end),
    t:each("path", [list_to_binary(Dir), [Dir, "/."], [Dir, <<"/.">>], directory, "", 1],
           fun(Path) -> explained(erl_ddll:try_load(Path, "text", [])) end),
    t:each("options",
           [[{reload, pending}], [{reload, pending_driver}], [{reload, loaded}], [{monitor, pending}], [{monitor, loaded}], [monitor],
            [{driver_options, [kill_ports]}], [{driver_options, []}], [{driver_options, [x]}], [{driver_options, [kill_ports | x]}],
            [{driver_options, []} | x], x],
           fun(Options) -> explained(erl_ddll:try_load(Dir, absent, Options)) end),
    t:each("linked in", ["ram_file_drv", udp_inet, <<"tty_sl">>], fun linked_in/1),
    t:each("unload", [{absent, []}, {absent, [kill_ports]}, {absent, [{monitor, pending}]}, {absent, [x]}, {absent, [kill_ports | x]},
                      {"", []}, {[1000], []}],
           fun({Name, Options}) -> explained(erl_ddll:try_unload(Name, Options)) end),
    t:each("monitor", [{driver, {absent, loaded}}, {driver, {"absent", unloaded}}, {driver, {ram_file_drv, loaded}},
                       {driver, {ram_file_drv, unloaded}}, {driver, {ram_file_drv, unloaded_only}}, {driver, {absent, x}},
                       {x, {absent, loaded}}, {driver, x}, {driver, {1, loaded}}],
           fun({Type, What}) ->
                   Monitor = erl_ddll:monitor(Type, What),
                   receive {Tag, Monitor, driver, Name, State} -> {Tag, Name, State} end
           end),
    t:each("info", [{ram_file_drv, x}, {absent, processes}, {1, processes}], fun({Name, Item}) -> erl_ddll:info(Name, Item) end),
    t:each("format_error",
           [inconsistent, not_loaded, permanent, not_loaded_by_this_process, linked_in_driver, no_driver_init, driver_incorrect_version,
            pending_process, not_pending, x, {open_error, 0}, {open_error, 1}, {open_error, -9}, {open_error, -1}, {open_error, -2}, {open_error, -3}, {open_error, -4},
            {open_error, -5}, {open_error, -6}, {open_error, -7}, {open_error, -8}, {open_error, -100},
            {open_error, x}, {x, 0}, {open_error, 1 bsl 70}],
           fun erl_ddll:format_error/1).

%% An answer without the name of the directory, which a run has for itself.
within(Dir, {error, {What, Text}}) ->
    {error, {What, unicode:characters_to_list(string:replace(list_to_binary(Text), Dir, "DIR", all))}}.

explained({error, Error}) -> {error, Error, erl_ddll:format_error(Error)};
explained(Other) -> Other.

linked_in(Name) ->
    {ok, Drivers} = erl_ddll:loaded_drivers(),
    {lists:member(unicode:characters_to_list(if is_atom(Name) -> atom_to_list(Name); true -> Name end), Drivers),
     explained(erl_ddll:load_driver("", Name)), explained(erl_ddll:try_unload(Name, [])), erl_ddll:info(Name)}.
