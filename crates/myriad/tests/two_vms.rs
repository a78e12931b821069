//! Two VMs live side by side in one system process, and share nothing but what terms share.

mod common;

/// Runs a VM to its end, on threads of its own; gives its exit status.
fn run(expression: String) -> std::thread::JoinHandle<i32> {
    std::thread::spawn(move || common::vm(&["-S", "2:2", "-SDio", "1"], &expression).run())
}

/// Puts something of its own in every place that a VM has for such things, waits for the other one to have done so, and ends
/// with its number if everything is still as it left it.
fn program(own: i32) -> String {
    format!(
        "Own = {own},
         yes = global:register_name(one, self()),
         true = register(one, self()),
         one = ets:new(one, [named_table, public]),
         true = ets:insert(one, {{own, Own}}),
         ok = persistent_term:put(one, Own),
         _ = erlang:system_flag(backtrace_depth, Own),
         Pids = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, Own)],
         Count = erlang:system_info(process_count),
         timer:sleep(1500),
         Sum = lists:sum([lists:sum(lists:seq(1, N)) || N <- lists:seq(1, 2000)]),
         1335334000 = Sum,
         [{{own, Own}}] = ets:lookup(one, own),
         Own = persistent_term:get(one),
         true = whereis(one) =:= self(),
         Own = erlang:system_flag(backtrace_depth, 8),
         Count = erlang:system_info(process_count),
         [P ! stop || P <- Pids],
         halt(Own)."
    )
}

#[test]
fn each_keeps_what_is_its_own() {
    let vms: Vec<_> = [3, 5].map(|own| run(program(own))).into();
    let statuses: Vec<i32> = vms.into_iter().map(|vm| vm.join().expect("no panic")).collect();
    assert_eq!(statuses, [3, 5]);
}
