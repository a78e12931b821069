%% A logger handler that formats each event and sends the text to a process.
-module(logger_to_me).
-export([log/2]).

log(Event, #{config := #{to := To, format := Format}}) ->
    To ! {text, unicode:characters_to_list(logger_formatter:format(Event, Format))}.
