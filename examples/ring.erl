%% Ring: one token goes round. Nothing runs in parallel, so this is the cost of send, wake-up and
%% context switch.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 (ring): a ring of 100 processes and
%% 100,000 messages.
%%
%% Arguments: PROCESSES (100), MESSAGES (2000000).
%% Result:    the token's value after the last hop, and at which process it ended.
-module(ring).
-export([main/1, run/1]).

main(Args) ->
    N = arg(1, Args, 100),
    Messages = arg(2, Args, 2000000),
    Start = erlang:monotonic_time(millisecond),
    {Id, Sum} = go_round(N, Messages),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("ring: processes ~w, messages ~w, ended at ~w, checksum ~w~n", [N, Messages, Id, Sum]),
    io:format("time ~w ms~n", [Time]).

%% The same for `bench/heaps`: how many processes and messages there were, the last one to the caller among them, and the result.
run([N, Messages]) ->
    {N, Messages + 1, go_round(N, Messages)}.

go_round(N, Messages) ->
    Parent = self(),
    First = spawn_link(fun() -> first(Parent, N) end),
    First ! {token, Messages, 0},
    receive {ended, Id, Sum} -> {Id, Sum} end.

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

first(Parent, N) ->
    Self = self(),
    Next = lists:foldl(fun(Id, Next) -> spawn_link(fun() -> hop(Parent, Id, Next) end) end,
                       Self, lists:seq(N, 2, -1)),
    hop(Parent, 1, Next).

hop(Parent, Id, Next) ->
    receive
        {token, 1, Sum} ->
            Parent ! {ended, Id, Sum + Id};
        {token, Left, Sum} ->
            Next ! {token, Left - 1, Sum + Id},
            hop(Parent, Id, Next)
    end.
