#!/usr/bin/env escript
%% Makes the files *.etf beside it: calls of built-in functions with what OTP gives for them, as external terms.
%% Run it with the OTP release that is the measure; crates/bif/src/vectors.rs compares.

-mode(compile).

main(_) ->
    Dir = filename:dirname(escript:script_name()),
    rand:seed(exsss, 42),
    [ok = file:write_file(filename:join(Dir, Name ++ ".etf"), term_to_binary([call(C) || C <- Calls], [compressed]))
     || {Name, Calls} <- [{"iolists", iolists()}, {"unicode", unicode()}, {"system", system()}, {"binaries", binaries()}]].

call({M, F, A}) ->
    Result = try apply(M, F, A) of V -> {ok, V} catch error:R -> {error, R} end,
    {M, F, A, Result}.

pick(L) -> lists:nth(rand:uniform(length(L)), L).

iolist(0) -> pick([<<>>, <<1,2,3>>, [], 5, 255, <<"0123456789012345678901234567890123456789012345678901234567890123456789">>]);
iolist(N) ->
    L = [iolist(N - 1) || _ <- lists:seq(1, rand:uniform(4) - 1)],
    case rand:uniform(12) of
        1 -> L ++ pick([<<9>>, <<>>, <<1:3>>, a, 3]);
        2 -> [pick([256, -1, a, 1.5, <<5:3>>, {}, 1 bsl 70]) | L];
        _ -> L
    end.

iolists() ->
    [{erlang, F, [L]} || F <- [iolist_size, iolist_to_binary, list_to_binary, list_to_bitstring],
                         L <- [a, 1, <<1>>, <<1:3>>, [], [1|2]] ++ [iolist(rand:uniform(4)) || _ <- lists:seq(1, 150)]]
    ++ [{erlang, F, [B]} || F <- [binary_to_list, bitstring_to_list], B <- [a, [], <<>>, <<1,2>>, <<1,2,5:3>>, <<3:7>>]]
    ++ [{erlang, binary_to_list, [B, X, Y]} || B <- [<<>>, <<1,2,3>>, <<1,2,3,1:1>>], X <- [0, 1, 2, 3, 4, -1, a], Y <- [0, 1, 3, 4]]
    ++ [{erlang, split_binary, [B, X]} || B <- [<<>>, <<1,2,3>>, <<1,2,3,1:1>>, a, <<0:800>>], X <- [0, 1, 2, 3, 4, -1, a, 50, 1 bsl 70]]
    ++ [{erlang, iolist_to_iovec, [B]} || B <- [[], <<>>, [<<>>], [1, 2, <<3>>], a, [1|2], [<<1:3>>], <<1:3>>]].

piece() ->
    pick([<<206>>, <<206,187>>, <<187>>, <<240,159,152,128>>, <<240,159>>, <<152,128>>, <<240>>, <<128>>, <<224,128>>, <<193>>,
          <<237,160,128>>, <<244,144>>, <<245>>, <<248>>, <<255>>, <<"abc">>, <<>>, <<"a",206>>, <<"a",206,187,240,159>>,
          <<128,"x">>, <<226,130>>, <<172>>, <<65,255,66>>, $a, 955, 233, 128512, 55296, 1114111, 1114112, -1, 255, 256, 1 bsl 80]).
good() ->
    pick([<<206,187>>, <<240,159,152,128>>, <<206>>, <<187>>, <<240,159>>, <<152,128>>, <<226>>, <<130,172>>, $a, 955, <<>>, []]).

chardata(0, P) -> P();
chardata(N, P) ->
    L = [chardata(pick([0, N - 1]), P) || _ <- lists:seq(1, rand:uniform(4) - 1)],
    case rand:uniform(10) of
        1 -> L ++ case P() of B when is_binary(B) -> B; _ -> [] end;
        2 -> case rand:uniform(8) of 1 -> L ++ pick([a, [a], 1, [<<1:3>>], [{}]]); _ -> [L] end;
        _ -> L
    end.

unicode() ->
    Data = [a, 1, <<1:3>>, <<65,1:3>>, <<>>, [], <<"abc">>, <<206,187>>, <<206>>]
        ++ [chardata(rand:uniform(3), fun piece/0) || _ <- lists:seq(1, 700)]
        ++ [chardata(rand:uniform(3), fun good/0) || _ <- lists:seq(1, 700)],
    [{unicode, F, [D, E]} || D <- Data, F <- [characters_to_binary, characters_to_list], E <- [unicode, latin1]]
    ++ [{unicode, characters_to_list, [[<<"x">>], utf8]}]
    ++ [{unicode, bin_is_7bit, [D]} || D <- [a, [], <<>>, <<1,127>>, <<1,128>>, <<1,1:3>>]]
    ++ [{prim_file, F, [D]} || F <- [internal_name2native, internal_native2name, is_translatable],
                               D <- [<<1,0,2>>, a, 1, [], [0], [$a|$b], ["ab", [955], $c]] ++ lists:sublist(Data, 100),
                               %% OTP reads past the end here.
                               not (is_bitstring(D) andalso not is_binary(D))].

system() ->
    Gone = list_to_pid("<0.9999.0>"),
    [{erlang, system_info, [K]} || K <- [machine, otp_release, compat_rel, heap_sizes, wordsize, {wordsize, internal},
        {wordsize, external}, {wordsize, x}, atom_limit, min_heap_size, min_bin_vheap_size, fullsweep_after,
        max_heap_size, message_queue_data, alloc_util_allocators, time_offset, start_time, end_time, tolerant_timeofday,
        time_warp_mode, time_correction, trace_control_word, sequential_tracer, dist, creation, threads, smp_support, foo, 1,
        {a, b}, {cpu_topology, defined}, cpu_topology, {cpu_topology, x}, memory,
        hipe_architecture, taints, ets_limit, multi_scheduling_blockers, driver_version, nif_version, heap_type, delayed_node_table_gc,
        context_reductions, dist_buf_busy_limit, outstanding_system_requests_limit, garbage_collection, beam_jump_table]]
    ++ [{erlang, F, A} || {F, A} <- [{nodes, []}, {nodes, [this]}, {nodes, [known]}, {nodes, [[this, hidden]]}, {nodes, [a]},
        {nodes, [[visible | a]]}, {nodes, [visible]}, {nodes, [this, #{}]}, {nodes, [this, #{node_type => true, connection_id => true}]},
        {nodes, [this, #{a => true}]}, {nodes, [this, #{node_type => a}]}, {nodes, [this, a]}, {nodes, [hidden, #{}]},
        {setnode, [a, 1]}, {monitor_node, [a, true]}, {monitor_node, [1, true]}, {monitor_node, [nonode@nohost, true]},
        {monitor_node, ['a@b', true, [foo]]}, {monitor_node, [nonode@nohost, true, [allow_passive_connect]]},
        {dist_ctrl_get_data, [1]}, {dist_ctrl_put_data, [1, <<>>]}, {dist_ctrl_set_opt, [1, get_size, true]}, {dist_get_stat, [1]},
        {statistics, [foo]}, {statistics, [scheduler_wall_time]}, {system_flag, [backtrace_depth, -1]}, {system_flag, [foo, 1]},
        {system_flag, [min_heap_size, 300]}, {system_flag, [min_heap_size, 233]}, {system_flag, [min_bin_vheap_size, 50000]},
        {system_flag, [min_bin_vheap_size, 46422]}, {system_flag, [fullsweep_after, 10]}, {system_flag, [fullsweep_after, 65535]},
        {system_flag, [max_heap_size, 10000]}, {system_flag, [max_heap_size, 0]}, {system_flag, [max_heap_size, 5]},
        {system_flag, [trace_control_word, 5]}, {system_flag, [trace_control_word, 0]}, {system_flag, [trace_control_word, -1]},
        {system_flag, [multi_scheduling, foo]}, {system_flag, [outstanding_system_requests_limit, 5]},
        {system_flag, [outstanding_system_requests_limit, 4]},
        {seq_trace_info, [send]}, {seq_trace_info, [label]}, {seq_trace_info, [serial]}, {seq_trace_info, [foo]},
        {trace_info, [new, flags]}, {trace_info, [new_ports, tracer]}, {trace_info, [foo, flags]}, {trace_info, [{erlang, abs, 1}, all]},
        {trace_info, [{lists, mapx, 2}, all]}, {trace_info, [on_load, all]}, {trace_info, [send, match_spec]}, {trace_info, [send, all]},
        {trace_info, [Gone, flags]}, {system_monitor, []}, {system_monitor, [undefined]}, {system_monitor, [a]},
        {system_monitor, [a, [busy_port]]}, {system_monitor, [undefined, [busy_port]]}, {system_monitor, [Gone, [busy_port]]},
        {system_profile, []}, {system_profile, [a, []]}, {halt, [a, []]}, {halt, [-1, []]}, {halt, [1, [foo]]}, {halt, [1, a]},
        {halt, [1, [{flush, a}]]}, {halt, [[a], []]}]]
    ++ [{erts_internal, get_dflags, []}, {erts_internal, get_creation, []}, {erts_internal, system_check, [a]},
        {erts_internal, dist_spawn_request, [a, b, c, d]}, {erts_internal, create_dist_channel, [a, b, c]},
        {net_kernel, dflag_unicode_io, [Gone]},
        {net_kernel, dflag_unicode_io, [a]}, {error_logger, warning_map, []}, {io, printable_range, []}].

subject() -> pick([<<>>, <<1,2,3,2,5>>, <<2>>, <<2,2,3,2,2>>, <<"abcabcabd">>, <<0,"aab",0,"b">>, a, <<1:3>>,
                   list_to_binary([rand:uniform(3) || _ <- lists:seq(1, 100)])]).
needle() -> pick([<<2>>, <<2,3>>, <<"ab">>, <<"abc">>, <<"bca">>, <<"b">>, <<1,2>>, <<1,2,3>>, <<2,1,1>>, <<3,3>>]).
pattern() -> case rand:uniform(8) of
                 1 -> pick([<<>>, [], a, <<1:3>>, [<<>>], [<<1>>, a], [<<1>> | <<2>>], {bm, a}, {bm, make_ref()}, 1]);
                 N when N < 5 -> needle();
                 _ -> [needle() || _ <- lists:seq(1, rand:uniform(4))]
             end.
scope() -> {scope, pick([{0,0}, {0,3}, {1,3}, {3,-2}, {0,5}, {5,-5}, {0,9}, {2,1}, {a,1}, {1,a}, a, {-1,2}, {100,-50}, {4,0}, {1 bsl 70, 1}])}.
options() -> [pick([scope(), scope(), foo]) || _ <- lists:seq(1, pick([0, 0, 1, 1, 1, 2]))].
split_options() -> [pick([scope(), global, global, global, trim, trim_all]) || _ <- lists:seq(1, pick([0, 1, 2, 3]))].

binaries() ->
    Binaries = [a, <<>>, <<1>>, <<1,2,3>>, <<1:3>>, <<1,2:3>>, <<0,0,5>>, <<255,255,255,255,255,255,255,255,255,1>>,
                <<15,255,255,255,255,255,255,255>>, <<16,0,0,0,0,0,0,0>>, <<0:800>>, list_to_binary(lists:seq(1, 100))],
    [{binary, F, [subject(), pattern()]} || _ <- lists:seq(1, 150), F <- [match, matches, split]]
    ++ [{binary, F, [subject(), pattern(), options()]} || _ <- lists:seq(1, 250), F <- [match, matches]]
    ++ [{binary, split, [subject(), pattern(), split_options()]} || _ <- lists:seq(1, 500)]
    ++ [{binary, split, [<<1>>, <<1>>, O]} || O <- [a, [a], [trim|global], [{scope, {0,1}} | a]]]
    ++ [{binary, compile_pattern, [P]} || P <- [<<>>, [], a, [<<>>], [<<1>>|a], {bm, make_ref()}, <<1:3>>]]
    ++ [{binary, F, [B]} || F <- [first, last, copy, decode_unsigned, list_to_bin, encode_unsigned], B <- Binaries]
    ++ [{binary, decode_unsigned, [B, E]} || B <- Binaries, E <- [little, big, foo]]
    ++ [{binary, encode_unsigned, [I]} || I <- [0, 1, 255, 256, -1, 1 bsl 60, 1 bsl 64, 1 bsl 100, -(1 bsl 100), 1.0]]
    ++ [{binary, encode_unsigned, [I, E]} || I <- [0, 1, 255, 256, -1, 1 bsl 60, 1 bsl 64, 1 bsl 100], E <- [little, big, foo]]
    ++ [{binary, at, [B, I]} || B <- Binaries, I <- [0, 1, 2, -1, a, 1 bsl 70]]
    ++ [{binary, copy, [B, I]} || B <- Binaries, I <- [0, 1, 2, 100, -1, a]]
    ++ [{binary, part, [B, {S, L}]} || B <- [<<>>, <<1,2,3>>, a, <<1,2:3>>], S <- [0, 1, 3, 4, -1, a], L <- [0, 1, 2, -1, -3, a]]
    ++ [{binary, part, [B, S, L]} || B <- [<<>>, <<1,2,3>>, a, <<1,2:3>>], S <- [0, 1, 3, 4, -1, a], L <- [0, 1, 2, -1, -3, a]]
    ++ [{binary, part, [<<1>>, a]}]
    ++ [{binary, F, [L]} || F <- [longest_common_prefix, longest_common_suffix],
                            L <- [[], a, [<<>>], [<<1,2>>], [<<1,2,3>>, <<1,2,4>>], [<<1,2,3>>, <<5,2,3>>], [<<1>>|a], [<<1:3>>], [<<1>>, a],
                                  [<<"abcx">>, <<"abc">>, <<"abcxyz">>], [<<"xabc">>, <<"abc">>, <<>>], [<<"a">>, <<"b">>]]].
