%% Episodes of the soak with libraries in C: objects of a NIF library that is loaded anew under them, and ports of a driver that is.
-module(soak_libraries).
-export([prepare/1, quiet/0, episodes/0]).

-define(assert(Condition), assert(Condition, ?LINE)).
-define(LONG, 60_000).

episodes() -> [{objects, fun objects/0}, {objects, fun objects/0}, {driver, fun driver/0}].

assert(true, _) -> ok;
assert(_, Line) -> error({assertion, Line}).

n(N) -> rand:uniform(N).
one_of(List) -> lists:nth(n(length(List)), List).

%% Two builds of the NIF library and the driver, in a directory.
prepare(Dir) ->
    Here = filename:dirname(proplists:get_value(source, module_info(compile))),
    [compile(filename:join(Here, "soak_library.c"), filename:join(Dir, "library" ++ integer_to_list(V)), ["-DVERSION=", integer_to_list(V)]) || V <- [1, 2]],
    compile(filename:join([Here, "..", "erl", "driver", "driver.c"]), filename:join(Dir, "soak_drv"), "'-DNAME=\"soak_drv\"'").

compile(Source, To, Flags) ->
    "" = os:cmd(["cc -shared -fPIC -O1 ", Flags, " -I", code:root_dir(), "/usr/include -o ", To, ".so ", Source]).

%% What stays between phases is put back as it was.
quiet() -> code:purge(soak_nif), code:delete(soak_nif), code:purge(soak_nif), ok.

%% Does it unless another one does.
alone(What, Work) ->
    case ets:insert_new(soak_locks, {What, self()}) of
        false -> timer:sleep(n(5));
        true -> try Work() after ets:delete(soak_locks, What) end
    end.

objects() -> alone(library, fun rounds/0).

%% New code with a library, whichever is there.
load() ->
    Forms = [{attribute, 1, module, soak_nif}, {attribute, 1, export, [{load, 1} | functions()]},
        {function, 1, load, 1, [{clause, 1, [{var, 1, 'F'}], [], [{call, 1, {remote, 1, {atom, 1, erlang}, {atom, 1, load_nif}}, [{var, 1, 'F'}, {integer, 1, n(1000)}]}]}]}
        | [{function, 1, F, A, [{clause, 1, [{var, 1, '_'} || _ <- lists:seq(1, A)], [], [{atom, 1, no}]}]} || {F, A} <- functions()]],
    {ok, soak_nif, Code} = compile:forms(Forms, []),
    code:purge(soak_nif),
    {module, soak_nif} = code:load_binary(soak_nif, "soak_nif", Code),
    Version = n(2),
    ok = soak_nif:load(filename:join(persistent_term:get(soak_dir), "library" ++ integer_to_list(Version))),
    Version.

functions() -> [{make, 1}, {make_dirty, 1}, {bytes, 1}, {watch, 2}, {pass, 2}, {counted, 0}].

rounds() ->
    load(),
    {_, 0, _} = soak_nif:counted(),
    Holders = [spawn_link(fun() -> holds([]) end) || _ <- lists:seq(1, n(5))],
    [begin
        Object = case n(4) of 1 -> soak_nif:make_dirty(n(50_000)); _ -> soak_nif:make(n(2000)) end,
        ?assert(is_reference(Object)),
        case n(6) of
            1 -> Bytes = soak_nif:bytes(Object), ?assert(Bytes =:= binary:copy(<<(byte_size(Bytes) band 255)>>, byte_size(Bytes))), one_of(Holders) ! {hold, binary:part(Bytes, 0, byte_size(Bytes) div 2)};
            2 -> P = spawn(fun() -> timer:sleep(n(20)) end), soak_nif:watch(Object, P);
            3 -> soak_nif:pass(one_of(Holders), {hold, [Object, {Object, term}]});
            4 -> one_of(Holders) ! {hold, Object};
            5 -> put(n(5), Object), erlang:garbage_collect();
            6 -> exit(spawn(fun() -> receive {hold, X} -> X end end), kill)
        end,
        n(10) =:= 1 andalso load()
    end || _ <- lists:seq(1, n(100))],
    Version = load(),
    {Version, Alive, Downs} = soak_nif:counted(),
    ?assert(Alive >= 0 andalso Downs >= 0),
    [begin unlink(P), M = monitor(process, P), exit(P, kill), receive {'DOWN', M, _, _, _} -> ok after ?LONG -> error(no_down) end end || P <- Holders],
    erase(),
    all_gone(500),
    quiet().

holds(What) -> receive {hold, X} -> case n(3) of 1 -> holds(What); _ -> holds([X | What]) end end.

%% No object is left when nobody refers to one.
all_gone(Tries) ->
    erlang:garbage_collect(),
    case soak_nif:counted() of
        {_, 0, _} -> ok;
        Left when Tries =:= 0 -> error({left, Left});
        _ -> timer:sleep(20), all_gone(Tries - 1)
    end.

driver() -> alone(driver, fun drives/0).

drives() ->
    process_flag(trap_exit, true),
    ok = erl_ddll:load_driver(persistent_term:get(soak_dir), soak_drv),
    Ports = [open_port({spawn_driver, "soak_drv"}, [binary || n(2) =:= 1]) || _ <- lists:seq(1, n(6))],
    [begin
        Once = [{10, ""}, {14, ""}, {18, ""}],
        Often = [{1, rand:bytes(n(200))}, {5, ""}, {6, ""}, {7, ""}, {8, [n(20)]}, {9, ""}, {13, [n(9)]}],
        Does = [one_of(Often) || _ <- lists:seq(1, n(8))] ++ [D || D <- Once, n(3) =:= 1],
        [catch port_control(Port, Operation, Data) || {Operation, Data} <- Does],
        n(2) =:= 1 andalso (catch port_command(Port, rand:bytes(n(1000))))
    end || Port <- Ports],
    timer:sleep(n(10)),
    Ways = [case n(4) of
        1 -> exit(Port, kill);
        2 -> catch port_control(Port, one_of([21, 22, 23, 24]), "");
        3 -> catch port_close(Port);
        4 -> P = spawn(fun() -> receive go -> ok end end), catch port_connect(Port, P), unlink(Port), P ! go
    end || Port <- Ports],
    ?assert(length(Ways) =:= length(Ports)),
    gone(Ports, 500),
    case n(2) of
        1 -> ok = erl_ddll:unload_driver(soak_drv), unloaded(500);
        2 -> {ok, pending_driver, R} = erl_ddll:try_unload(soak_drv, [{monitor, pending_driver}]), receive {'DOWN', R, driver, _, unloaded} -> ok after ?LONG -> error(not_unloaded) end
    end,
    flush().

gone(Ports, Tries) ->
    case [P || P <- Ports, erlang:port_info(P, name) =/= undefined] of
        [] -> ok;
        Left when Tries =:= 0 -> error({left, [erlang:port_info(P) || P <- Left]});
        _ -> timer:sleep(10), gone(Ports, Tries - 1)
    end.

unloaded(Tries) ->
    {ok, Loaded} = erl_ddll:loaded_drivers(),
    case lists:member("soak_drv", Loaded) of
        false -> ok;
        true when Tries =:= 0 -> error(not_unloaded);
        true -> timer:sleep(10), unloaded(Tries - 1)
    end.

flush() -> receive _ -> flush() after 0 -> ok end.
