/* Result records -> one HTML file that opens without a network. Reads only
 * records; never runs an experiment.
 *
 *     bang_report_write("run/report.html", "run", &err);
 */
#ifndef BANG_REPORT_REPORT_H
#define BANG_REPORT_REPORT_H

#include "bang/base/json.h"

/* Reads folder/results.jsonl and writes the HTML. A record is shown through
 * its "show" member, which says how the result looks to a person:
 *
 *     "show": [
 *       {"kind": "text",  "text": "One paragraph."},
 *       {"kind": "table", "title": "...", "columns": ["p", "paper", ...],
 *        "rows": [["0.9", 0.866, null], ...], "note": "..."},
 *       {"kind": "lines", "title", "x_label", "y_label", "percent": true,
 *        "series": [{"name", "x": [..], "y": [..], "error": [..], "points": bool, "color": 0}]},
 *       {"kind": "heat",  "title", "x_label", "y_label", "value_label", "percent": true,
 *        "x": [..], "y": [..], "panels": [{"title", "values": [[..], ..]}]},
 *       {"kind": "verdict", "claim": "...", "holds": "yes|partly|no", "because": "..."}
 *     ]
 *
 * Optional: "decimals" of a table, one number or null per column; "y_min" and
 * "y_max" of lines; a "note" under any table or chart. null is a dash in a
 * table and a gap in a chart. An entry that cannot be shown leaves a note that
 * says why, and the rest follows.
 *
 * Records stand in the order of the file under the headings of their
 * "section" (a string); one without "show" is listed by key only. A folder
 * without records is an error, and the file is then left as it was. */
int bang_report_write(const char *path, const char *folder, bang_error *err);

#endif
