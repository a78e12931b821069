%% Slow readers: watermarks, busy ports, send timeouts, closing with data left, files.
-module(busy_sockets).
-export([main/0]).

main() ->
    t:each(timeouts, [{C, N} || C <- [false, true], N <- [1, 2]], fun({C, N}) -> timeout(C, N) end),
    t:c(nosuspend, fun nosuspend/0),
    t:c(resumes, fun resumes/0),
    t:c(pending, fun pending/0),
    t:c(lost, fun lost/0),
    t:c(killed_reader, fun killed_reader/0),
    t:each(delay_send, [true, false], fun delay_send/1),
    t:each(files, [{0, 0}, {0, 10}, {5, 10}, {5, 0}, {1000000, 10}, {-1, 1}, {0, 5000000}], fun({O, N}) -> sent_file(O, N) end),
    t:c(file_after_data, fun file_after_data/0),
    t:c(pieces, fun pieces/0).

slow(Options) -> net:pair([{sndbuf, 4096}, {recbuf, 4096}, {high_watermark, 20000}, {low_watermark, 5000} | Options], [{recbuf, 4096}]).

%% Sends until it fails.
fill(C, Data) ->
    case gen_tcp:send(C, Data) of
        ok -> fill(C, Data);
        Other -> Other
    end.

timeout(Close, Times) ->
    {C, S} = slow([{send_timeout, 60}, {send_timeout_close, Close}]),
    A = [fill(C, binary:copy(<<"x">>, 10000)) || _ <- lists:seq(1, Times)],
    B = gen_tcp:send(C, binary:copy(<<"x">>, 30000)),
    R = {A, B, prim_inet:getstatus(C)},
    net:close([S, C]),
    R.

nosuspend() ->
    {C, S} = slow([]),
    Self = self(),
    Pid = spawn_link(fun() -> Self ! {filler, fill(C, binary:copy(<<"x">>, 10000))} end),
    busy = net:then(busy, fun() -> case prim_inet:getstatus(C) of {ok, [busy | _]} -> busy; Other -> Other end end),
    R = {prim_inet:send(C, "more", [nosuspend]), process_info(Pid, status), element(2, inet:getstat(C, [send_pend])) > [{send_pend, 10000}]},
    gen_tcp:close(S),
    {R, net:got(1, 1000), gen_tcp:close(C)}.

resumes() ->
    {C, S} = slow([]),
    Self = self(),
    Data = << <<N:32>> || N <- lists:seq(1, 5000) >>,
    spawn_link(fun() -> Self ! {sent, [gen_tcp:send(C, Data) || _ <- lists:seq(1, 20)]} end),
    spawn_link(fun() -> Self ! {sent, [gen_tcp:send(C, Data) || _ <- lists:seq(1, 20)]} end),
    timer:sleep(100),
    Got = [gen_tcp:recv(S, byte_size(Data), 5000) =:= {ok, Data} || _ <- lists:seq(1, 40)],
    R = {lists:usort(Got), lists:usort(lists:append([Rs || {sent, Rs} <- net:got(2, 2000)]))},
    net:close([C, S]),
    R.

%% What waits is counted, and its end told.
pending() ->
    {C, S} = slow([{high_watermark, 1 bsl 20}]),
    ok = gen_tcp:send(C, binary:copy(<<"x">>, 1 bsl 18)),
    ok = gen_tcp:send(C, binary:copy(<<"y">>, 1 bsl 18)),
    {ok, [{subs_empty_out_q, N}]} = prim_inet:subscribe(C, [subs_empty_out_q]),
    {ok, [{send_pend, M}]} = inet:getstat(C, [send_pend]),
    {ok, D} = gen_tcp:recv(S, 1 bsl 19, 5000),
    R = {N =:= M, N > 1 bsl 18, byte_size(D), net:got(1, 1000), inet:getstat(C, [send_pend])},
    net:close([C, S]),
    R.

%% The reader resets the connection while somebody waits to send.
lost() ->
    [begin
         {C, S} = slow([{show_econnreset, Show}]),
         Self = self(),
         spawn_link(fun() -> Self ! {filler, fill(C, binary:copy(<<"x">>, 10000))} end),
         busy = net:then(busy, fun() -> case prim_inet:getstatus(C) of {ok, [busy | _]} -> busy; Other -> Other end end),
         ok = inet:setopts(S, [{linger, {true, 0}}]),
         gen_tcp:close(S),
         R = {net:got(1, 2000), gen_tcp:send(C, "x"), gen_tcp:recv(C, 0, 50)},
         gen_tcp:close(C),
         R
     end || Show <- [false, true]].

killed_reader() ->
    {C, S} = slow([{active, true}]),
    Pid = spawn(fun() -> receive never -> ok end end),
    ok = gen_tcp:controlling_process(S, Pid),
    Self = self(),
    spawn_link(fun() -> Self ! {filler, fill(C, binary:copy(<<"x">>, 10000))} end),
    timer:sleep(100),
    exit(Pid, kill),
    lists:sort(net:got(2, 2000)).

delay_send(Delay) ->
    {C, S} = net:pair([{delay_send, Delay}, {packet, 2}]),
    R = [[gen_tcp:send(C, integer_to_list(N)) || N <- lists:seq(1, 5)], [gen_tcp:recv(S, 0, 1000) || _ <- lists:seq(1, 5)]],
    ok = gen_tcp:send(C, "last"),
    ok = gen_tcp:close(C),
    [R, gen_tcp:recv(S, 0, 1000), gen_tcp:recv(S, 0, 1000)].

file() ->
    Name = filename:join(t:tmp("busy_sockets"), "file"),
    ok = file:write_file(Name, << <<N:32>> || N <- lists:seq(1, 100000) >>),
    Name.

sent_file(Offset, Bytes) ->
    {C, S} = net:pair(),
    {ok, Fd} = file:open(file(), [read, raw, binary]),
    Self = self(),
    spawn_link(fun() -> Self ! {read, digest(S, erlang:md5_init(), 0)} end),
    Sent = file:sendfile(Fd, C, Offset, Bytes, []),
    ok = gen_tcp:close(C),
    R = {Sent, net:got(1, 5000)},
    file:close(Fd),
    R.

digest(S, Context, N) ->
    case gen_tcp:recv(S, 0, 3000) of
        {ok, D} -> digest(S, erlang:md5_update(Context, D), N + byte_size(D));
        {error, Reason} -> {N, erlang:md5_final(Context), Reason}
    end.

file_after_data() ->
    {C, S} = slow([]),
    ok = gen_tcp:send(C, binary:copy(<<"x">>, 100000)),
    {ok, Fd} = file:open(file(), [read, raw, binary]),
    Self = self(),
    spawn_link(fun() -> Self ! {read, digest(S, erlang:md5_init(), 0)} end),
    Sent = file:sendfile(Fd, C, 0, 1000, []),
    After = gen_tcp:send(C, "after"),
    ok = gen_tcp:close(C),
    file:close(Fd),
    {Sent, After, net:got(1, 5000)}.

%% Large binaries among small ones, deep.
pieces() ->
    {C, S} = net:pair([{packet, 4}]),
    Large = binary:copy(<<"0123456789">>, 5000),
    Part = binary:part(Large, 3, 10001),
    Data = ["head", $:, [Large, [<<"mid">>, Part], $-], Part | <<"tail">>],
    ok = gen_tcp:send(C, Data),
    R = {gen_tcp:recv(S, 0, 1000) =:= {ok, iolist_to_binary(Data)}, [gen_tcp:send(C, Bad) || Bad <- [a, [a], [256], [<<1:1>>], {}]], gen_tcp:send(C, []), gen_tcp:recv(S, 0, 1000)},
    net:close([C, S]),
    R.
