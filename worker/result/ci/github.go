package ci

import (
	"fmt"
	"strings"
	"unicode"

	"gpurun/worker/result"
	"gpurun/worker/result/printable"
)

// Annotation is the workflow command of GitHub Actions that shows an error with
// a title at the top of a run. It is one line, without its end; a message that is
// very long is cut.
func Annotation(title, message string) string { return AnnotationAt("error", "", 0, title, message) }

// AnnotationAt is Annotation for a line of a file, unless that is empty. The level is error, warning or notice.
func AnnotationAt(level, file string, line int, title, message string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	place := ""
	if file != "" {
		place = "file=" + property.Replace(file) + ","
		if line > 0 {
			place += fmt.Sprintf("line=%d,", line)
		}
	}
	command := "::" + level + " " + place + "title=" + property.Replace(title) + "::" + data.Replace(clip(message))
	return printable.Text(command)
}

// Summary is a report as a step summary of GitHub Actions, in Markdown: the
// verdict, the violations, and a table of the results, of at most that many bytes. It
// counts the results that do not fit.
func Summary(title string, r result.Report, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", prose(title), verdict(r))
	if machines := r.Machines(); machines != "" {
		fmt.Fprintf(&b, "%s, version %s\n\n", prose(machines), prose(r.Version))
	}
	for _, reason := range r.Reasons() {
		fmt.Fprintf(&b, "- %s\n", clip(prose(reason)))
	}
	if r.Gate != nil {
		fmt.Fprintf(&b, "\nThresholds: %s\n", prose(strings.TrimSpace(r.Gate.String()+" "+r.Gate.Note)))
	}
	if len(r.Results) > 0 {
		writeTable(&b, r, most)
	}
	if b.Len()+1 > most { // not even the beginning fits
		return ""
	}
	return b.String() + "\n"
}

// writeTable adds a row for each result, as long as there is room.
func writeTable(b *strings.Builder, r result.Report, most int) {
	b.WriteString("\n| collective | algorithm | type | op | bytes | place | us | busbw GB/s | wrong | thresholds |\n" +
		"|---|---|---|---|---:|---|---:|---:|---:|---|\n")
	missed := violations(r.Gate)
	for i, x := range r.Results {
		row := summaryRow(x, missed[i])
		rest := fmt.Sprintf("\n%d more results are left out\n", len(r.Results)-i)
		if b.Len()+len(row)+len(rest) > most {
			b.WriteString(rest)
			return
		}
		b.WriteString(row)
	}
}

func verdict(r result.Report) string {
	if r.Passed {
		return "passed"
	}
	return fmt.Sprintf("failed (exit code %d)", r.ExitCode)
}

func summaryRow(x result.Result, missed []result.Violation) string {
	wrong := "not verified"
	if x.Wrong != nil {
		wrong = fmt.Sprint(*x.Wrong)
	}
	var rules []string
	for _, v := range missed {
		rules = append(rules, "misses "+v.Rule)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %s | %.2f | %.2f | %s | %s |\n", prose(x.Collective),
		prose(x.Algorithm), prose(x.DType),
		prose(x.Op), x.Bytes, place(x), x.Time.P50, x.BusBW, wrong, prose(strings.Join(rules, ", ")))
}

// longestReason bounds one reason, in bytes.
const longestReason = 4 << 10

// clip shortens text to longestReason bytes.
func clip(text string) string {
	if len(text) <= longestReason {
		return text
	}
	return strings.ToValidUTF8(text[:longestReason], "") + " ..."
}

// prose puts text into one line, and escapes what Markdown or HTML would interpret.
func prose(text string) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[",
		`\[`, "]", `\]`, "\\", `\\`)
	visible := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return escape.Replace(strings.Join(strings.Fields(visible), " "))
}
