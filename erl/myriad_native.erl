%% Machine code, as far as it is to be seen (docs/native.md, `crates/myriad/src/native.rs`).
-module(myriad_native).
-export([info/0, info/1, listing/1, main/0]).
%% Built-in functions.
-export([state/3, listing/3]).

%% What has been compiled since the start, as a map.
%%
%% `enabled` is `true`, or `{false, Why}`, and then there is nothing else. `compiled` counts the functions that have or had machine code, `queued` those that wait
%% for it; `declined` and `refused` those that stay in tier 0, by reason: because of their instructions, or because there is no code or no memory for
%% what was made of these. `not_optimised` are those of the compiled ones that had to be compiled plainly. `code_bytes` is the memory that machine code takes now,
%% `milliseconds` the time that went by while functions were compiled, in all threads together. `edits` has sums over the compiled
%% functions: `exits` and `points` are places where code is left and entered, `flag_branches` and `flag_registers` tests for overflow that go by the
%% processor's flag, and by a register. `cache` says how many functions were found in the cache of compiled code (`hits`), and how many were not (`misses`).
info() -> erlang:nif_error(undef).

%% The state of a function `{M, F, A}`, or of all functions of a module, as a list of `{{F, A}, State}`:
%% `{native, Bytes}`, it has machine code; `interpreted`, it has none yet; `not_called`; `built_in`; `{declined, Reason}` or `{refused, Reason}`: it stays in tier 0.
%% `badarg` if there is no such module or function.
info({M, F, A}) -> state(M, F, A);
info(M) when is_atom(M) -> [{{F, A}, state(M, F, A)} || {F, A} <- lists:sort(erlang:get_module_info(M, functions))].

state(_M, _F, _A) -> erlang:nif_error(undef).

%% The listing of a function `{M, F, A}`: its instructions with their lines, what is made of them, and machine code. It is compiled for
%% that, and goes on running where it runs. `{ok, Text}`, or `{error, Why}`: it is built in, or stays in tier 0. `badarg` as for info/1.
listing({M, F, A}) -> listing(M, F, A).

listing(_M, _F, _A) -> erlang:nif_error(undef).

%% `myriad native MODULE|FILE.beam FUNCTION[/ARITY]`: the listings of all functions of that name; status 1 if there is one without.
main() ->
    [Name, Function] = init:get_plain_arguments(),
    halt(case load(Name) of
        {module, Module} -> print(Module, Function);
        {error, Why} -> complain("cannot load ~ts: ~tp", [Name, Why])
    end).

load(Name) ->
    case filename:extension(Name) of
        ".beam" -> code:load_abs(filename:rootname(Name));
        _ -> code:ensure_loaded(list_to_atom(Name))
    end.

print(Module, Function) ->
    Wanted = fun({F, A}) ->
        Name = atom_to_list(F),
        lists:member(Function, [Name, Name ++ [$/ | integer_to_list(A)]])
    end,
    case lists:filter(Wanted, lists:sort(erlang:get_module_info(Module, functions))) of
        [] -> complain("~tp has no function ~ts", [Module, Function]);
        Found -> lists:max([print(Module, F, A) || {F, A} <- Found])
    end.

print(M, F, A) ->
    case listing(M, F, A) of
        {ok, Text} -> io:put_chars(Text), 0;
        {error, Why} -> complain("~tp:~tp/~p: ~ts", [M, F, A, Why])
    end.

complain(Format, Arguments) ->
    io:format(standard_error, "myriad native: " ++ Format ++ "~n", Arguments),
    1.
