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
 *       {"kind": "bars",  "title", "value_label", "percent": true, "names": ["layer 1", ..],
 *        "values": [..]},
 *       {"kind": "columns", "title", "x_label", "value_label", "percent": true,
 *        "names": ["ImageNet-A", ..],
 *        "series": [{"name": "TT + FF", "values": [..], "low": [..], "high": [..], "color": 0}]},
 *       {"kind": "scatter", "title", "x_label", "y_label", "percent": true, "diagonal": true,
 *        "names": ["ImageNet-A", ..],
 *        "series": [{"name": "fine-tuned", "x": [..], "y": [..], "color": 1}]},
 *       {"kind": "reliability", "title",
 *        "panels": [{"title": "fine-tuned", "ece": 0.034, "color": 1, "bins":
 *                    [{"low": 0, "high": 0.1, "count": 7, "confidence": 0.07, "accuracy": 0.1},
 *                     ..]}]},
 *       {"kind": "picture", "title", "png": "<base64>", "alt": "what it shows"},
 *       {"kind": "facts", "title", "rows": [["Processor", "..."], ["Threads", 8], ...]},
 *       {"kind": "verdict", "claim": "...", "holds": "yes|partly|no|open", "because": "..."}
 *     ]
 *
 * Optional, a "note" under any table, chart or picture, and
 *
 *     table    "decimals": one number or null per column
 *              "digits": the same, significant digits of every number instead, for
 *              columns whose numbers differ by powers of ten
 *              "groups": [["", 1], ["model 1", 4], ...], headings over that many
 *              columns each, which together are all columns
 *              "shade": "z" or null per column; a "z" column holds distances in
 *              standard errors, printed with a sign and one decimal (or its
 *              "decimals") and coloured: up to 2 calm, up to 3 with a mark "!",
 *              beyond with "!!"
 *     lines    "y_min" and "y_max"; "x_percent": true when x are fractions, too; of
 *              a series "band": [..], half widths of a band around the line, and
 *              "step": true for values that jump half way between two points;
 *              "labels": ["run 1", null, ..], what its points are called when they
 *              are pointed at, written beside them with "beside": true (up to 40);
 *              "shape": of its points (below), by colour when missing
 *     heat     "sequential": true for one hue from small to large instead of two
 *              around 0; "top_down": true to have the first row at the top
 *     bars     "color": index into the colours of series, 0 when missing
 *     columns  "stacked": true for columns on top of each other, not side by side;
 *              of a series "pale": true for a fainter fill, to pair series of one
 *              colour; "low" and "high", which come together, are the ends of an
 *              interval around each value (not drawn in a stack)
 *     scatter  point i of a series belongs to name i, which gives its shape; both
 *              axes cover "min" to "max" (0 to 1 with percent, else the data, when
 *              missing); "shapes": ["star", ..] one per name; "connect": [0, 1]
 *              joins the points of one name in these series by a faint line;
 *              "above" and "below": what it means to lie on that side of the
 *              diagonal; "names" may be missing where a series has one meaning
 *     reliability  "x_label" and "y_label"; of a panel "ece" and "color" may be
 *              missing; bins go upwards, of any width; what is not known of an
 *              empty bin is null
 *     verdict  "item": what of the paper it is about ("Table 1"), named in the overview,
 *              which counts those on "Beyond the paper" apart
 *     picture  "scale": its size on the page over its pixels, 1 when missing;
 *              "pixelated": true to see the pixels
 *
 * Shapes of points: "circle", "square", "diamond", "triangle up", "triangle down",
 * "plus", "cross", "star".
 *
 * null is a dash in a table, a gap in lines, a blank cell in a heat map, a name
 * without a bar or column and no point in a scatter. An entry that cannot be shown leaves a note
 * that says why, and the rest follows.
 *
 * A "section" (a string; what it has in brackets at its end is set apart) is a
 * chapter, in the order of its first record, and its records stand in the order
 * of the file. The page begins with an overview of all verdicts: how many hold,
 * partly, do not hold here and are open, then each with its item and a link to
 * where it is shown, by chapter, then the chapters with the first sentence of
 * their first text. There is none without verdicts, or where they are the first
 * that is shown.
 *
 * What would make a page endless is folded: records without "show" are listed by
 * key at the end of their chapter (at the end of the page when the chapter shows
 * nothing else), and five or more records of a chapter that show texts and tables
 * alone, as those of single seeds do, unfold one by one. A folder without records
 * is an error, and the file is then left as it was.
 *
 * A record unfolds into what it was made with; a "command" (a string), which
 * makes the same record again when it is pasted, stands first. Each chart and
 * table has a link that saves its numbers (figure.h says what the CSV holds, and
 * its name).
 *
 * The page answers to the pointer and the keyboard where scripts may run, and
 * is complete where they may not. It follows the light or dark theme of the
 * system; its switch or an address that ends in #theme=dark chooses another. It
 * is as narrow as a phone, and prints in light colours without its controls. */
int bang_report_write(const char *path, const char *folder, bang_error *err);

/* The same page from records in memory, an array. title heads it; lead is the
 * paragraph under it, NULL for that of a run. */
int bang_report_put(const char *path, const json_t *records, const char *title, const char *lead,
                    bang_error *err);

#endif
