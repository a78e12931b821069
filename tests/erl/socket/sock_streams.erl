%% Streams of the module socket: connections over IPv4, IPv6 and local names, data in both directions, their ends, files.
-module(sock_streams).
-export([main/0]).

main() ->
    t:each(connect, [inet, inet6, local, abstract], fun connect/1),
    t:c(refused, fun refused/0),
    t:c(names, fun names/0),
    t:each(lengths, [0, 1, 5, 6], fun length_of/1),
    t:each(buffers, [3, {2, 3}, 20], fun buffer/1),
    t:c(large, fun large/0),
    t:c(vectors, fun vectors/0),
    t:c(peek, fun peek/0),
    t:each(shutdowns, [read, write, read_write], fun shut/1),
    t:c(ends, fun ends/0),
    t:c(messages, fun messages/0),
    t:each(files, [{0, 0}, {0, 10}, {5, 10}, {95, 10}, {200, 10}], fun({O, N}) -> file(O, N) end),
    t:c(large_file, fun large_file/0),
    t:each(whole_turns, [{0, 0}, {0, 1 bsl 20}, {0, 1 bsl 21}, {1, (1 bsl 20) + 1}, {(1 bsl 20) + 7, 0}], fun({O, N}) -> whole_turns(O, N) end),
    t:c(from_descriptor, fun from_descriptor/0),
    t:c(origins, fun origins/0),
    t:c(lent, fun lent/0),
    t:c(contradicted, fun contradicted/0),
    t:c(chosen_names, fun chosen_names/0),
    t:each(wrong, [{foo, stream, tcp}, {inet, foo, tcp}, {inet, stream, foo}, {inet, stream, 17}, {99, 1, 0}], fun wrong/1),
    t:c(backend, fun backend/0).

address(inet) -> #{family => inet, addr => loopback, port => 0};
address(inet6) -> #{family => inet6, addr => loopback, port => 0};
address(local) -> #{family => local, path => filename:join(t:tmp(sock_streams), "s")};
address(abstract) -> #{family => local, path => [0 | "sock_streams " ++ os:getpid()]}.

family(abstract) -> local;
family(Family) -> Family.

listener(Kind) ->
    {ok, L} = socket:open(family(Kind), stream, default),
    ok = socket:bind(L, address(Kind)),
    ok = socket:listen(L),
    {ok, A} = socket:sockname(L),
    {L, A}.

pair(Kind) ->
    {L, A} = listener(Kind),
    {ok, C} = socket:open(family(Kind), stream, default),
    ok = socket:connect(C, A),
    {ok, S} = socket:accept(L),
    ok = socket:close(L),
    {C, S}.

connect(Kind) ->
    {C, S} = pair(Kind),
    R = {socket:send(C, "hello"), socket:recv(S, 5), socket:send(S, ["wor", <<"ld">>]), socket:recv(C, 5, 1000)},
    {R, socket:close(C), socket:recv(S, 1), socket:close(S), socket:close(S), socket:recv(S), socket:sockname(S)}.

refused() ->
    {L, A} = listener(inet),
    ok = socket:close(L),
    {ok, C} = socket:open(inet, stream),
    {socket:connect(C, A), socket:send(C, "x"), socket:recv(C), socket:peername(C), socket:accept(C)}.

hide({ok, #{port := _} = A}) -> {ok, A#{port := port}};
hide(Other) -> Other.

names() ->
    {C, S} = pair(inet),
    {hide(socket:sockname(C)), hide(socket:peername(C)), socket:sockname(C) =:= socket:peername(S), hide(socket:sockname(S))}.

%% Data that come in two parts.
length_of(N) ->
    {C, S} = pair(inet),
    Self = self(),
    spawn_link(fun() -> Self ! {got, socket:recv(S, N, 300)} end),
    ok = socket:send(C, "abc"),
    timer:sleep(50),
    ok = socket:send(C, "de"),
    receive {got, R} -> {R, socket:recv(S, 0, 100)} end.

buffer(Size) ->
    {C, S} = pair(inet),
    ok = socket:setopt(S, {otp, rcvbuf}, Size),
    ok = socket:send(C, "abcdefghij"),
    timer:sleep(20),
    [socket:recv(S, 0, T) || T <- [100, 0, nowait]].

large() ->
    {C, S} = pair(inet),
    Data = << <<N:32>> || N <- lists:seq(1, 500000) >>,
    Self = self(),
    spawn_link(fun() -> Self ! {sent, socket:send(C, Data)} end),
    R = socket:recv(S, byte_size(Data), 10000) =:= {ok, Data},
    receive {sent, Sent} -> {R, Sent} end.

vectors() ->
    {C, S} = pair(local),
    Vector = [<<N:16>> || N <- lists:seq(1, 3000)],
    R = socket:sendmsg(C, #{iov => Vector}),
    {R, socket:recv(S, 6000, 1000) =:= {ok, iolist_to_binary(Vector)},
     [socket:sendmsg(C, #{iov => V}) || V <- [[], [<<>>], [<<"a">> | b], [a], a]]}.

peek() ->
    {C, S} = pair(inet),
    ok = socket:send(C, "abc"),
    {socket:recv(S, 3, [peek]), socket:recv(S, 2, [peek], 100), socket:recv(S, 3), socket:recv(S, 3, [foo]), socket:recv(S, 0, 0)}.

shut(How) ->
    {C, S} = pair(inet),
    R = socket:shutdown(C, How),
    timer:sleep(20),
    {R, socket:recv(C, 0, 20), socket:send(C, "a"), socket:recv(S, 0, 20), socket:send(S, "b")}.

ends() ->
    {C, S} = pair(inet),
    ok = socket:send(C, "abc"),
    ok = socket:close(C),
    R = {socket:recv(S, 5, 1000), socket:recv(S, 5), socket:send(S, "x")},
    timer:sleep(20),
    {R, socket:send(S, "y"), socket:recv(S, 0)}.

messages() ->
    {C, S} = pair(inet),
    ok = socket:sendmsg(C, #{iov => [<<"ab">>, <<"cd">>]}),
    R = socket:recvmsg(S, 3, 0, 1000),
    {R, socket:recvfrom(S, 10, 1000), socket:recvmsg(S, 0), socket:close(C), socket:recvmsg(S), socket:recvfrom(S)}.

file(Offset, Count) ->
    {C, S} = pair(inet),
    Name = filename:join(t:tmp(sock_streams), "file"),
    ok = file:write_file(Name, [lists:seq(0, 99)]),
    {ok, File} = file:open(Name, [raw, read, binary]),
    R = socket:sendfile(C, File, Offset, Count),
    ok = socket:close(C),
    {R, socket:recv(S, 100, 1000)}.

%% Files of just so many bytes as are sent in one go, and some more; two at a time, one after the other. What was sent, and came.
whole_turns(Offset, Count) ->
    {C, S} = pair(inet),
    Name = filename:join(t:tmp(sock_streams), "turns"),
    ok = file:write_file(Name, binary:copy(<<"0123456789abcdef">>, 1 bsl 17)),
    Self = self(),
    [spawn_link(fun() -> {ok, File} = file:open(Name, [raw, read, binary]), Self ! {sent, socket:sendfile(C, File, Offset, Count, 20000)} end) || _ <- [1, 2]],
    {ok, Content} = file:read_file(Name),
    Part = case Count of 0 -> binary:part(Content, Offset, byte_size(Content) - Offset); _ -> binary:part(Content, Offset, min(Count, byte_size(Content) - Offset)) end,
    R = socket:recv(S, 2 * byte_size(Part), 20000) =:= {ok, <<Part/binary, Part/binary>>},
    [R | [receive {sent, Sent} -> Sent end || _ <- [1, 2]]].

large_file() ->
    {C, S} = pair(inet),
    Name = filename:join(t:tmp(sock_streams), "large"),
    Data = << <<N:32>> || N <- lists:seq(1, 500000) >>,
    ok = file:write_file(Name, Data),
    Self = self(),
    spawn_link(fun() -> {ok, File} = file:open(Name, [raw, read, binary]), Self ! {sent, socket:sendfile(C, File)} end),
    R = socket:recv(S, byte_size(Data), 10000) =:= {ok, Data},
    receive {sent, Sent} -> {R, Sent} end.

from_descriptor() ->
    {C, S} = pair(inet),
    {ok, Number} = socket:getopt(S, {otp, fd}),
    {ok, T} = socket:open(Number),
    ok = socket:close(S),
    ok = socket:send(C, "abc"),
    {socket:recv(T, 3), [socket:getopt(T, O) || O <- [{otp, domain}, {socket, type}, {socket, protocol}]], socket:open(1000)}.

%% Of one that is connected and one that is not.
origins() ->
    {_, S} = pair(inet),
    {ok, U} = socket:open(inet, dgram, udp),
    [origin(Of) || Of <- [S, U]].

origin(Of) ->
    {ok, Number} = socket:getopt(Of, {otp, fd}),
    {ok, Copy} = socket:open(Number, #{dup => true}),
    Own = fun(#{ctype := {fromfd, N}} = I) -> I#{ctype := {fromfd, N =:= Number}}; (I) -> I end,
    [maps:with([ctype, wstates], Own(socket:info(X))) || X <- [Of, Copy]].

%% A descriptor that is only lent is not closed, neither by the program nor at its end.
lent() ->
    {C, S} = pair(inet),
    {ok, Number} = socket:getopt(S, {otp, fd}),
    {ok, Lent} = socket:open(Number, #{dup => false}),
    How = maps:get(ctype, socket:info(Lent)),
    ok = socket:close(Lent),
    {Pid, Monitor} = spawn_monitor(fun() -> {ok, _} = socket:open(Number, #{dup => false}) end),
    receive {'DOWN', Monitor, process, Pid, _} -> ok end,
    ok = socket:send(C, "abc"),
    {How, socket:recv(S, 3, 1000)}.

%% What the system says of a socket counts, whatever the options say.
contradicted() ->
    {ok, U} = socket:open(inet, dgram, udp),
    {ok, Number} = socket:getopt(U, {otp, fd}),
    [begin
         {ok, S} = socket:open(Number, Options),
         {Options, maps:with([domain, type, protocol], socket:info(S))}
     end || Options <- [#{domain => inet6}, #{domain => foo, type => foo}, #{type => stream}, #{protocol => 0}, #{domain => 77, type => 99, protocol => 200}]].

%% Without a path the system chooses a name.
chosen_names() ->
    Names = [begin
                 {ok, S} = socket:open(local, Type),
                 ok = socket:bind(S, #{family => local, path => <<>>}),
                 {ok, #{path := <<0, Name/binary>>}} = socket:sockname(S),
                 Name
             end || Type <- [stream, dgram]],
    {ok, D} = socket:open(local, dgram),
    {[byte_size(N) > 0 || N <- Names], hd(Names) =/= lists:last(Names), socket:sendto(D, <<"x">>, #{family => local, path => <<>>})}.

wrong({Domain, Type, Protocol}) -> socket:open(Domain, Type, Protocol).

backend() ->
    {ok, L} = gen_tcp:listen(0, [{inet_backend, socket}, binary, {active, false}, {packet, 2}, {ip, loopback}]),
    {ok, Port} = inet:port(L),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, [{inet_backend, socket}, binary, {packet, 2}, {active, once}]),
    {ok, S} = gen_tcp:accept(L),
    ok = gen_tcp:send(S, "hello"),
    Got = receive {tcp, C, Data} -> Data after 1000 -> none end,
    ok = gen_tcp:send(C, "world"),
    R = {Got, gen_tcp:recv(S, 0, 1000), gen_tcp:close(S)},
    inet:setopts(C, [{active, once}]),
    {R, receive {tcp_closed, C} -> closed after 1000 -> none end, gen_tcp:close(C), gen_tcp:close(L)}.
