package webpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"

	"gpurun/worker/result/printable"
)

// mostRows bounds the tables of a page, and so the page: a row takes about 400 bytes.
const mostRows = 2500

//go:embed assets
var assets embed.FS

// Write writes documents as one page.
func Write(w io.Writer, title string, documents ...Document) error {
	style := asset("uplot/uPlot.min.css") + asset("page.css")
	script := asset("uplot/uPlot.iife.min.js") + "\n" + asset("plot.js") + asset("page.js")
	var page bytes.Buffer
	err := pages().Execute(&page, map[string]any{
		"Title": title, "Documents": arranged(documents), "Style": template.CSS(style), "Script": template.JS(script),
		"Policy": policy(style, script),
	})
	if err != nil {
		return fmt.Errorf("writing a page: %w", err)
	}
	_, err = io.WriteString(w, printable.Text(page.String()))
	return err
}

// policy allows the page's own style and script, by their hashes, and nothing else.
func policy(style, script string) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

// hash is that of a source in a policy: Content Security Policy Level 3, section 2.3.1.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is part of the binary
	}
	return string(text)
}

func pages() *template.Template {
	functions := template.FuncMap{"json": encode, "number": number}
	return template.Must(template.New("page.tmpl").Funcs(functions).ParseFS(assets, "assets/page.tmpl"))
}

// encode writes a plot for the script. What JSON has no number for is left out.
func encode(p Plot) (string, error) {
	for i, line := range p.Lines {
		kept := [][2]float64{}
		for _, at := range line.Points {
			if finite(at[0]) && finite(at[1]) {
				kept = append(kept, at)
			}
		}
		p.Lines[i].Points = kept
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// number writes what a cell is sorted by.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// arranged keeps the page's tables to mostRows in all. What has its section's title shows it once.
func arranged(documents []Document) []Document {
	left := mostRows
	for i := range documents {
		for j := range documents[i].Sections {
			section := &documents[i].Sections[j]
			for k := range section.Drawings {
				section.Drawings[k].Unseen = section.Drawings[k].Title == section.Title
			}
			tables := section.Tables
			for k := range tables {
				tables[k] = tables[k].cut(left)
				tables[k].Unseen = tables[k].Caption == section.Title
				left -= len(tables[k].Rows)
			}
		}
	}
	return documents
}

// words joins what is not empty.
func words(all ...string) string {
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}
