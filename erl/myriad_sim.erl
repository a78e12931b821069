%% What a simulated program finds in place of OTP's boot: a group leader that prints, and `start/2`, which calls the program's main.
%%
%% Loaded by `myriad sim` with the modules that the program names; no application runs, and no code is loaded later.
-module(myriad_sim).
-export([start/2, main/2, leader/0]).

start(Module, Args) ->
    group_leader(spawn(?MODULE, leader, []), self()),
    {Pid, Monitor} = spawn_monitor(?MODULE, main, [Module, Args]),
    receive
        {'DOWN', Monitor, process, Pid, normal} ->
            erlang:halt(0, [{flush, false}]);
        {'DOWN', Monitor, process, Pid, Reason} ->
            myriad_sim_out:failed(missing(Module, Reason), Reason),
            erlang:halt(1, [{flush, false}])
    end.

%% The function that the program called and that is not there, or rests on one that is not.
missing(Module, {Undefined, [First | _] = Stack}) when Undefined =:= undef; Undefined =:= undefined ->
    Called = lists:takewhile(fun(Frame) -> element(1, Frame) =/= Module end, Stack),
    case lists:last([First | Called]) of
        {M, F, Args, _} when is_list(Args) -> {M, F, length(Args)};
        {M, F, Arity, _} -> {M, F, Arity}
    end;
missing(_, _) ->
    none.

main(Module, Args) ->
    case erlang:function_exported(Module, main, 1) of
        true -> Module:main(Args);
        false -> Module:main()
    end.

leader() ->
    receive
        {io_request, From, Ref, Request} ->
            From ! {io_reply, Ref, io_request(Request)},
            leader();
        _ ->
            leader()
    end.

io_request({put_chars, Encoding, Module, Function, Args}) ->
    try apply(Module, Function, Args) of
        Chars -> io_request({put_chars, Encoding, Chars})
    catch
        _:_ -> {error, Function}
    end;
io_request({put_chars, Encoding, Chars}) ->
    case unicode:characters_to_binary(Chars, Encoding) of
        Bytes when is_binary(Bytes) -> print(Bytes);
        _ -> {error, put_chars}
    end;
io_request(getopts) ->
    [{encoding, unicode}];
io_request({get_geometry, _}) ->
    {error, enotsup};
io_request({requests, Requests}) ->
    lists:foldl(fun(Request, ok) -> io_request(Request); (_, Error) -> Error end, ok, Requests);
io_request(_) ->
    {error, request}.

print(Bytes) ->
    myriad_sim_out:print(Bytes).
