# The report on a run of OTP's suites: reads outcomes (`SUITE CASE OUTCOME...`), prints a line for each suite and one for each case that
# is not as it should be. Its exit status says whether a case failed that is not known to.
#
# Variables: the files known_file (tests/conformance/known-failures), second_file (cases that ran once more), all_file (all
# cases that OTP passes); rows and lost_rows, the files that the rows of docs/conformance.md go to.

# Drivers and NIFs written in C cannot be loaded yet. Cases that were refused one are counted apart; where the refusal does
# not show in the outcome, known-failures says so.
function wants_c(id, reason) {
    return (id in known && known[id] ~ /^loads a C /) || reason ~ /open_error,-10|Shared libraries cannot be loaded|Failed to load NIF library/
}
function add(suite) { if (!(suite in seen)) { seen[suite] = 1; order[++suites] = suite } }
BEGIN {
    while ((getline line < known_file) > 0) {
        if (line ~ /^#/ || split(line, w, " ") < 2) continue
        reason = line; sub(/^[^ ]+ +[^ ]+ */, "", reason)
        known[w[1] " " w[2]] = reason == "" ? "no reason given" : reason
    }
    while ((getline line < second_file) > 0) { sub(/ @/, " ", line); second[line] = 1 }
    while ((getline line < all_file) > 0) { split(line, w, " "); add(w[1]); otp[w[1]]++; if (w[2] ~ /^@/) nodes[w[1]]++ }
}
{
    suite = $1; name = $2; sub(/^@/, "", name); id = suite " " name
    ran[suite]++
    if ($2 ~ /^@/) nodes[suite]--
    reason = $0; sub(/^[^ ]+ [^ ]+ /, "", reason)
    if ($3 == "not-run") { unrun[suite]++; next }
    if ($3 != "passed" && wants_c(id, reason)) { native[suite]++; next }
    if ($3 == "passed") {
        good[suite]++
        if (id in known) extra = extra "   passes, though listed in known-failures: " id "\n"
        else if (id in second) extra = extra "   passes only in a VM of its own: " id "\n"
    } else if (id in known) {
        lost[suite]++
        extra = extra "   known: " id " (" known[id] ")\n"
        print "| " suite " | `" name "` | " known[id] " |" > lost_rows
    } else {
        lost[suite]++
        extra = extra "   OTP passes, not here: " id ": " reason "\n"
        print "| " suite " | `" name "` | not looked into |" > lost_rows
        bad++
    }
}
END {
    for (i = 1; i <= suites; i++) {
        s = order[i]; n = good[s] + lost[s]
        ratio = n ? sprintf("%.1f %%", 100 * good[s] / n) : "-"
        printf "%s: %d of %d%s%s%s\n", s, good[s], n, nodes[s] ? sprintf(", %d more need a node", nodes[s]) : "", native[s] ? sprintf(", %d more load C", native[s]) : "", unrun[s] ? sprintf(", %d not run", unrun[s]) : ""
        printf "| %s | %d | %d | %d | %d | %d | %s |\n", s, otp[s], nodes[s], native[s], n, good[s], ratio > rows
        allgood += good[s]; all += n; allnodes += nodes[s]; allnative += native[s]; allotp += otp[s]; allunrun += unrun[s]
    }
    printf "%s", extra
    printf "%d of %d cases pass (%.1f %%)%s%s%s\n", allgood, all, all ? 100 * allgood / all : 0, allnodes ? sprintf(", %d more need a node", allnodes) : "", allnative ? sprintf(", %d more load C", allnative) : "", allunrun ? sprintf(", %d not run for want of time", allunrun) : ""
    printf "| **all** | %d | %d | %d | %d | %d | %.1f %% |\n", allotp, allnodes, allnative, all, allgood, all ? 100 * allgood / all : 0 > rows
    exit bad > 0
}
