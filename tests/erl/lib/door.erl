%% A gen_statem for the tests of behaviours: a door with a state time-out and a postponed call.
-module(door).
-behaviour(gen_statem).
-export([init/1, callback_mode/0, closed/3, opened/3, locked/3]).

init([]) -> {ok, closed, #{entered => 0}}.
callback_mode() -> [state_functions, state_enter].

closed(enter, _, D) -> {keep_state, count(D)};
closed({call, F}, open, D) -> {next_state, opened, D, [{reply, F, opening}]};
closed({call, F}, lock_soon, D) -> {keep_state, D, [{reply, F, ok}, {state_timeout, 20, lock}]};
closed(state_timeout, lock, D) -> {next_state, locked, D};
closed(T, E, D) -> common(closed, T, E, D).
opened(enter, _, D) -> {keep_state, count(D)};
opened(cast, close, D) -> {next_state, closed, D};
opened(T, E, D) -> common(opened, T, E, D).
locked(enter, _, D) -> {keep_state, count(D)};
locked({call, _}, postponed, D) -> {keep_state, D, [postpone, {timeout, 10, unlock}]};
locked(timeout, unlock, D) -> {next_state, closed, D};
locked(T, E, D) -> common(locked, T, E, D).

common(S, {call, F}, state, D) -> {keep_state, D, [{reply, F, {S, maps:get(entered, D)}}]};
common(S, {call, F}, postponed, D) -> {keep_state, D, [{reply, F, {answered_in, S}}]};
common(_, _, _, D) -> {keep_state, D}.
count(D) -> D#{entered := maps:get(entered, D) + 1}.
