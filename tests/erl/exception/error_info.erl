%% What erl_erts_errors and friends make of the error_info of failed BIFs.
-module(error_info).
-export([main/0]).

main() ->
    Calls =
        [{erlang, atom_to_list, [1]}, {erlang, atom_to_binary, [a, x]}, {erlang, element, [5, {a}]}, {erlang, element, [a, {a}]},
         {erlang, setelement, [1, x, y]}, {erlang, list_to_integer, ["x"]}, {erlang, list_to_integer, ["1", 99]},
         {erlang, list_to_float, ["1"]}, {erlang, binary_to_term, [<<1>>]}, {erlang, list_to_binary, [[a]]},
         {erlang, integer_to_list, [a]}, {erlang, integer_to_list, [1, 1]}, {erlang, tuple_to_list, [[]]}, {erlang, list_to_tuple, [a]},
         {erlang, hd, [[]]}, {erlang, tl, [a]}, {erlang, length, [[a | b]]}, {erlang, '+', [a, 1]}, {erlang, '++', [a, []]}, {erlang, 'div', [1, 0]},
         {erlang, binary_part, [<<1>>, 2, 3]}, {erlang, split_binary, [<<1>>, 5]}, {erlang, register, [a, b]}, {erlang, register, [undefined, self()]},
         {erlang, unregister, [nope]}, {erlang, whereis, [1]}, {erlang, process_info, [x]}, {erlang, process_info, [self(), zzz]},
         {erlang, process_flag, [trap_exit, 1]}, {erlang, link, [a]}, {erlang, monitor, [process, 1]}, {erlang, monitor, [x, self()]},
         {erlang, demonitor, [a]}, {erlang, send, [nope, x]}, {erlang, send, [self(), x, [bad]]}, {erlang, send_after, [-1, self(), x]}, {erlang, send_after, [a, self(), x]},
         {erlang, start_timer, [1, 1, 1]}, {erlang, cancel_timer, [a]}, {erlang, spawn, [a]}, {erlang, spawn, [m, f, a]}, {erlang, spawn_opt, [m, f, [], [x]]},
         {erlang, exit, [a, b]}, {erlang, group_leader, [a, self()]}, {erlang, put, []}, {erlang, phash2, [a, 0]}, {erlang, make_tuple, [-1, a]},
         {erlang, term_to_binary, [a, [x]]}, {erlang, apply, [a, b, c]}, {erlang, system_info, [nope]}, {erlang, system_flag, [nope, 1]},
         {erlang, monotonic_time, [nope]}, {erlang, convert_time_unit, [1, a, b]}, {erlang, localtime_to_universaltime, [x]}, {erlang, float_to_list, [1]},
         {erlang, float_to_list, [1.0, [{decimals, -1}]]}, {erlang, binary_to_integer, [<<"x">>]}, {erlang, list_to_pid, ["<1>"]}, {erlang, list_to_ref, ["x"]},
         {erlang, map_size, [a]}, {erlang, fun_info, [a]}, {erlang, function_exported, [1, 2, 3]}, {erlang, halt, [a]}, {erlang, raise, [a, b, c]},
         {erlang, garbage_collect, [1]}, {erlang, bump_reductions, [0]}, {erlang, suspend_process, [a]}, {erlang, alias, [x]}, {erlang, unalias, [x]},
         {erlang, list_to_existing_atom, ["zz no such zz"]}, {erlang, node, [x]}, {erlang, is_record, [{}, 1]}, {erlang, universaltime_to_localtime, [{1, 2}]},
         {lists, reverse, [a, b]}, {lists, member, [a, b]}, {lists, keyfind, [a, 0, []]}, {lists, keymember, [a, 1, b]}, {lists, seq, [1, a]},
         {maps, get, [k, #{}]}, {maps, from_list, [a]}, {maps, merge, [a, #{}]}, {maps, find, [a, b]}, {maps, fold, [a, b, c]}, {maps, update, [a, 1, #{}]},
         {binary, at, [<<1>>, 1]}, {binary, match, [<<1>>, x]}, {binary, part, [<<1>>, 1, 5]}, {binary, copy, [<<1>>, -1]}, {binary, split, [<<1>>, <<>>]}, {binary, decode_hex, [<<"x">>]},
         {ets, new, [1, []]}, {ets, new, [a, [x]]}, {ets, insert, [nope, {a}]}, {ets, lookup, [nope, a]}, {ets, lookup_element, [nope, a, 1]}, {ets, update_counter, [nope, a, 1]},
         {ets, delete, [nope]}, {ets, info, [1]}, {ets, match, [nope, x]}, {ets, select, [nope, x]}, {ets, give_away, [nope, a, b]}, {ets, first, [nope]},
         {unicode, characters_to_binary, [a]}, {unicode, characters_to_list, [a]}, {persistent_term, get, [nope]}, {atomics, new, [0, []]}, {counters, new, [0, []]},
         {atomics, get, [a, 1]}, {counters, add, [a, 1, 1]}, {math, sqrt, [-1]}, {math, log, [0]}, {math, sin, [a]}, {io, format, ["~z", []]}, {io, format, ["~p", []]}, {io, put_chars, [a]},
         {re, run, ["a", "("]}, {re, run, [a, "x"]}, {os, getenv, [a]}, {os, putenv, ["a=b", "c"]}, {erlang, binary_to_atom, [<<255>>]}, {erlang, tuple_size, [a]}, {erlang, ceil, [a]}],
    [t:c(io_lib:format("~w:~w ~0tp", [M, F, t:norm(A)]), fun() -> describe(M, F, A) end) || {M, F, A} <- Calls].

describe(M, F, A) ->
    try apply(M, F, A) of
        V -> {returned, V}
    catch
        C:R:S ->
            {_, _, _, Info} = Top = hd(S),
            case proplists:get_value(error_info, Info) of
                undefined -> {C, R, no_info, element(1, Top)};
                I ->
                    Mod = maps:get(module, I, M),
                    Fun = maps:get(function, I, format_error),
                    {C, R, maps:map(fun(K, V) when is_integer(K) -> lists:flatten(io_lib:format("~ts", [V])); (_, V) -> lists:flatten(io_lib:format("~ts", [V])) end,
                                    try Mod:Fun(R, S) catch _:E -> #{failed => io_lib:format("~p", [E])} end)}
            end
    end.
