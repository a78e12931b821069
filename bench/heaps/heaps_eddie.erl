%% A stand-in for eddie: an HTTP parser that answers get requests, in two processes.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 and table 1 (2 processes, 2,121 messages). The program itself is some 2,000
%% lines that are not at hand; texts are lists of characters, as in its time. The client makes a request and sends it; the server
%% parses it to a record of method, path, query and header fields, and sends a header and a page. So 2 messages for each request, and one
%% to the caller.
-module(heaps_eddie).
-export([run/1]).

run([Requests]) ->
    Caller = self(),
    Server = spawn_link(fun server/0),
    spawn_link(fun() -> client(Caller, Server, Requests, 0) end),
    receive {through, Bytes} -> ok end,
    unlink(Server),
    exit(Server, kill),
    {2, 2 * Requests + 1, Bytes}.

client(Caller, _, 0, Bytes) ->
    Caller ! {through, Bytes};
client(Caller, Server, Left, Bytes) ->
    Server ! {request, self(), request(Left)},
    receive {answer, Head, Body} -> client(Caller, Server, Left - 1, Bytes + length(Head) + length(Body)) end.

request(I) ->
    N = integer_to_list(I),
    "GET /a/path%20to/page" ++ N ++ ".html?name=value&number=" ++ N ++ " HTTP/1.0\r\nHost: www.example.org\r\n"
        "User-Agent: a stand-in\r\nAccept: text/html, text/plain;q=0.5\r\nAccept-Language: en, sv;q=0.3\r\nCookie: a=1; b=" ++ N ++ "\r\n\r\n".

server() ->
    receive
        {request, From, Text} ->
            {Head, Body} = answer(parse(Text)),
            From ! {answer, Head, Body},
            server()
    end.

parse(Text) ->
    {Line, Rest} = line(Text, []),
    [Method, Uri, "HTTP/" ++ Version] = string:tokens(Line, " "),
    {Path, Query} = lists:splitwith(fun(C) -> C =/= $? end, Uri),
    {Method, unquote(Path), [fields(F, $=) || F <- string:tokens(Query, "?&")], Version, headers(Rest, [])}.

headers(Text, Fields) ->
    case line(Text, []) of
        {[], []} -> lists:keysort(1, Fields);
        {Line, Rest} ->
            {Name, Value} = fields(Line, $:),
            headers(Rest, [{string:to_lower(Name), string:strip(Value)} | Fields])
    end.

line([$\r, $\n | Rest], Line) -> {lists:reverse(Line), Rest};
line([C | Rest], Line) -> line(Rest, [C | Line]).

fields(Text, Between) ->
    {Name, [_ | Value]} = lists:splitwith(fun(C) -> C =/= Between end, Text),
    {Name, Value}.

unquote([$%, A, B | Rest]) -> [list_to_integer([A, B], 16) | unquote(Rest)];
unquote([C | Rest]) -> [C | unquote(Rest)];
unquote([]) -> [].

answer({"GET", Path, Query, Version, Headers}) ->
    Rows = ["<tr><td>" ++ Name ++ "</td><td>" ++ Value ++ "</td></tr>\n" || {Name, Value} <- Query ++ Headers],
    Body = lists:flatten(["<html><title>", Path, "</title><table>\n", Rows, "</table></html>\n"]),
    Head = "HTTP/" ++ Version ++ " 200 OK\r\nContent-Type: text/html\r\nContent-Length: " ++ integer_to_list(length(Body)) ++ "\r\n\r\n",
    {Head, Body}.
