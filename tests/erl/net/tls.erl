%% TLS by the libraries that OTP has, and HTTP over it.
-module(tls).
-export([main/0]).

main() ->
    ok = file:set_cwd(t:tmp("tls")),
    t:mute(),
    {ok, _} = application:ensure_all_started(ssl),
    {ok, _} = application:ensure_all_started(inets),
    Keys = fun() -> #{root => [{key, {namedCurve, secp256r1}}], intermediates => [], peer => [{key, {namedCurve, secp256r1}}]} end,
    #{server_config := Server, client_config := Client} = public_key:pkix_test_data(#{server_chain => Keys(), client_chain => Keys()}),
    t:each(echo, ['tlsv1.2', 'tlsv1.3'], fun(Version) -> echo(Version, Server, Client) end),
    t:c(no_common_version, fun() -> refused([{versions, ['tlsv1.2']} | Server], [{versions, ['tlsv1.3']} | Client]) end),
    t:c(unknown_root, fun() -> refused(Server, lists:keyreplace(cacerts, 1, Client, {cacerts, [proplists:get_value(cert, Client)]})) end),
    t:c(client_certificate, fun() -> mutual(Server, Client) end),
    t:c(messages, fun() -> messages(Server, Client) end),
    t:c(https, fun() -> https(Server) end).

%% A connection: both ends.
pair(Server, Client) ->
    {ok, L} = ssl:listen(0, [{reuseaddr, true}, {active, false}, binary | Server]),
    {ok, {_, Port}} = ssl:sockname(L),
    Self = self(),
    P = spawn_link(fun() ->
        {ok, T} = ssl:transport_accept(L),
        Result = ssl:handshake(T, 5000),
        case Result of {ok, S} -> ok = ssl:controlling_process(S, Self); _ -> ok end,
        Self ! {self(), Result},
        receive stop -> ok end
    end),
    C = ssl:connect("localhost", Port, [{active, false}, binary, {server_name_indication, disable}, {verify, verify_peer} | Client], 5000),
    S = receive {P, Result} -> Result end,
    unlink(P), P ! stop,
    ssl:close(L),
    {S, C}.

echo(Version, Server, Client) ->
    {{ok, S}, {ok, C}} = pair([{versions, [Version]} | Server], Client),
    ok = ssl:send(C, "hello"),
    {ok, Hello} = ssl:recv(S, 5, 5000),
    Big = binary:copy(<<"0123456789">>, 50000),
    spawn_link(fun() -> ok = ssl:send(S, Big) end),
    {ok, Got} = ssl:recv(C, byte_size(Big), 20000),
    {ok, [{protocol, Protocol}]} = ssl:connection_information(C, [protocol]),
    ok = ssl:close(C),
    {Hello, Got =:= Big, Protocol, ssl:recv(S, 0, 5000)}.

refused(Server, Client) ->
    {S, C} = pair(Server, Client),
    [case R of {ok, _} -> ok; {error, {tls_alert, {Alert, _}}} -> Alert; {error, Other} -> Other end || R <- [S, C]].

mutual(Server, Client) ->
    {{ok, S}, {ok, C}} = pair([{verify, verify_peer}, {fail_if_no_peer_cert, true} | Server], Client),
    {ok, Cert} = ssl:peercert(S),
    [ssl:close(X) || X <- [C, S]],
    Cert =:= proplists:get_value(cert, Client).

messages(Server, Client) ->
    {{ok, S}, {ok, C}} = pair(Server, Client),
    ok = ssl:setopts(S, [{active, true}, {packet, line}, list]),
    ok = ssl:send(C, "one\ntwo\n"),
    Lines = [receive {ssl, S, Line} -> Line after 5000 -> none end || _ <- [1, 2]],
    ok = ssl:close(C),
    {Lines, receive {ssl_closed, S} -> closed after 5000 -> none end}.

https(Server) ->
    ok = file:write_file("page.txt", "a page"),
    {ok, P} = inets:start(httpd, [{port, 0}, {server_name, "x"}, {server_root, "."}, {document_root, "."}, {socket_type, {ssl, Server}}]),
    Url = "https://localhost:" ++ integer_to_list(proplists:get_value(port, httpd:info(P))),
    Get = fun(Path) -> {ok, {{_, Code, _}, _, Body}} = httpc:request(get, {Url ++ Path, []}, [{ssl, [{verify, verify_none}]}], []), {Code, Body} end,
    {Code, _} = Get("/absent"),
    {Get("/page.txt"), Code}.
