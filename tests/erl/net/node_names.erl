%% A node's name: what `setnode/2` takes, who is told, what becomes of identifiers, and when the name goes.
-module(node_names).
-export([main/0]).

main() ->
    t:c(before, fun() -> {node(), is_alive(), erlang:system_info(creation)} end),
    t:each(nobody_keeps_it, [a@b, a, 1], fun(N) -> erlang:setnode(N, 4) end),
    t:each(name, names(), fun(Name) -> kept(fun() -> {erlang:setnode(Name, 5), node(), is_alive()} end) end),
    t:c(latin1, fun() -> [kept(fun() -> erlang:setnode(list_to_atom(Name), 5) end) || Name <- [[233, $@, $b], [$a, $@, 233]]] end),
    t:each(creation, [0, 1, -1, 1 bsl 31, 1 bsl 32, 1 bsl 32 + 3, 1 bsl 70, 1.0, a], fun(Creation) ->
        kept(fun() -> {erlang:setnode(a@b, Creation), erlang:system_info(creation)} end)
    end),
    t:c(twice, fun() -> kept(fun() -> {erlang:setnode(a@b, 4), catch element(1, element(2, erlang:setnode(c@d, 4))), node()} end) end),
    t:c('after', fun() -> {node(), is_alive(), erlang:system_info(creation)} end),
    t:each(news, [plain, #{}, [], [nodedown_reason], [connection_id, {node_type, visible}], #{node_type => hidden}, #{nodedown_reason => true, node_type => all}], fun news/1),
    t:c(news_of_many, fun news_of_many/0),
    t:c(by_another, fun by_another/0),
    t:c(unregistered, fun unregistered/0),
    t:c(identifiers, fun identifiers/0).

names() ->
    [a@b, a, 'a@', '@b', 'a@b@c', '_1-@b', 'a.b@c', 'a b@c', 'a@b.c', 'a@[::1]', 'a@b c', [], nonode@nohost].

%% What a process that bears the keeper's name says of `Fun`; it has ended, and all are told of it.
kept(Fun) ->
    {Pid, M} = spawn_monitor(fun() -> register(net_kernel, self()), exit({said, catch Fun()}) end),
    receive
        {'DOWN', M, process, Pid, {said, {'EXIT', {Reason, _}}}} -> Reason;
        {'DOWN', M, process, Pid, {said, Said}} -> Said
    end.

monitor_nodes(plain, On) -> process_flag(monitor_nodes, On);
monitor_nodes(Options, On) when is_map(Options) -> process_flag({monitor_nodes, Options}, On);
monitor_nodes(Options, On) -> net_kernel:monitor_nodes(On, Options).

news(Options) ->
    First = [monitor_nodes(Options, true), monitor_nodes(Options, true)],
    kept(fun() -> erlang:setnode(a@b, 4) end),
    Twice = [receive M -> M after 0 -> none end || _ <- lists:seq(1, 5)],
    Last = [monitor_nodes(Options, false), monitor_nodes(Options, false)],
    kept(fun() -> erlang:setnode(a@b, 4) end),
    {First, Twice, Last, receive M -> M after 0 -> none end}.

%% Who has ended is not told.
news_of_many() ->
    Self = self(),
    Watchers = [spawn_monitor(fun() -> process_flag(monitor_nodes, true), Self ! {ready, self()}, told(Self, N) end) || N <- lists:seq(1, 5)],
    [receive {ready, Pid} -> ok end || {Pid, _} <- Watchers],
    {Gone, M} = hd(Watchers),
    exit(Gone, kill),
    receive {'DOWN', M, process, Gone, killed} -> ok end,
    kept(fun() -> erlang:setnode(a@b, 4) end),
    lists:sort([receive {told, N, What} -> {N, What} end || _ <- lists:seq(1, 8)]).

told(To, N) -> receive {What, a@b} -> To ! {told, N, What} end, told(To, N).

%% Another process may name the node, for as long as the one lives that bears the keeper's name.
by_another() ->
    {Pid, M} = spawn_monitor(fun() -> register(net_kernel, self()), receive stop -> ok end end),
    registered(net_kernel),
    Named = erlang:setnode(a@b, 4),
    Alive = {node(), is_alive()},
    Pid ! stop,
    receive {'DOWN', M, process, Pid, normal} -> ok end,
    {Named, Alive, node(), is_alive()}.

%% It keeps the name when it has lost its own.
unregistered() ->
    {Pid, M} = spawn_monitor(fun() -> register(net_kernel, self()), receive stop -> ok end end),
    registered(net_kernel),
    Named = erlang:setnode(a@b, 4),
    unregister(net_kernel),
    Alive = node(),
    Pid ! stop,
    receive {'DOWN', M, process, Pid, normal} -> ok end,
    {Named, Alive, node()}.

registered(Name) -> case whereis(Name) of undefined -> erlang:yield(), registered(Name); Pid -> Pid end.

%% Identifiers are the same terms before and after; what was written down under another name is another node's.
identifiers() ->
    Before = {self(), hd(erlang:ports()), make_ref()},
    Text = term_to_binary(Before),
    kept(fun() ->
        erlang:setnode(a@b, 4),
        Named = term_to_binary(Before),
        Local = binary_to_term(Named) =:= Before,
        {Pid, Port, Ref} = binary_to_term(Text),
        Foreign = [node(Pid), node(Port), node(Ref), Pid =:= element(1, Before)],
        {Local, Foreign, [node(T) || T <- tuple_to_list(Before)], size(Named) - size(Text)}
    end).
