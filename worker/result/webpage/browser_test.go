package webpage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser starts a Chromium without a window. complaints are errors of scripts, messages on the console, and requests
// for anything but the page.
func browser(t *testing.T) (ctx context.Context, complaints func() []string) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("GPURUN_REQUIRE_CHROMIUM") == "1" {
			t.Fatal("there is no chromium; install it")
		}
		t.Skip("there is no chromium; install it to test pages in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.UserDataDir(profile(t)), chromedp.WindowSize(1200, 900))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, close := chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf))
	ctx, expire := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(func() { expire(); close(); stop() })
	all := make(chan string, 100)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			all <- e.ExceptionDetails.Error()
		case *runtime.EventConsoleAPICalled:
			all <- fmt.Sprintf("console.%s", e.Type)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "file://") || !strings.HasSuffix(e.Request.URL, "/page.html") {
				all <- "a request for " + e.Request.URL
			}
		}
	})
	return ctx, func() (said []string) {
		for len(all) > 0 {
			said = append(said, <-all)
		}
		return said
	}
}

// profile makes a folder for the browser. Its processes may still write there when the first one has ended.
func profile(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "page-in-a-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(folder)
		for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); err = os.RemoveAll(folder) {
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return folder
}

// open writes a page, and opens it in a browser.
func open(t *testing.T, documents ...Document) (ctx context.Context, complaints func() []string) {
	t.Helper()
	ctx, complaints = browser(t)
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(f, "results", documents...); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, network.Enable(), chromedp.Navigate("file://"+file))
	if n := value[int](t, ctx, `document.querySelectorAll("canvas").length`); n == 0 {
		t.Fatalf("nothing is drawn: %q", complaints())
	}
	return ctx, complaints
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// value evaluates an expression in the page.
func value[T any](t *testing.T, ctx context.Context, expression string) (v T) {
	t.Helper()
	do(t, ctx, chromedp.Evaluate(expression, &v))
	return v
}

// call calls a method of the first element that a selector finds.
func call(selector, method string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).%s()", selector, method), nil)
}

const readout = `document.querySelector(".readout").textContent`

// A page in a browser: one Chromium for all that a reader does.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	ctx, complaints := open(t, Run("gpurun bench allreduce", hostile()), findings())

	// The cursor reads the values under it, by mouse and by keys.
	do(t, ctx, call(".canvas", "focus"), chromedp.KeyEvent("\u0303")) // right arrow
	if got := value[string](t, ctx, readout); got != "1K: oneshot 10, "+script+" 20" {
		t.Errorf("the first arrow reads %q", got)
	}
	do(t, ctx, chromedp.KeyEvent(kb.Escape))
	if got := value[string](t, ctx, readout); got != "" {
		t.Errorf("after Escape %q is read", got)
	}
	do(t, ctx, chromedp.Evaluate(hover, nil))
	if got := value[string](t, ctx, readout); !strings.HasPrefix(got, "4K: oneshot 40") {
		t.Errorf("the mouse reads %q", got)
	}

	// A button of the legend hides a line; a switch changes an axis.
	do(t, ctx, call(".legend button", "click"), call(".canvas", "focus"), chromedp.KeyEvent("\u0302")) // left arrow
	if got := value[string](t, ctx, readout); strings.Contains(got, "oneshot 10") {
		t.Errorf("a hidden line is read: %q", got)
	}
	do(t, ctx, call(".tools button", "click"))
	if value[string](t, ctx, `document.querySelector(".tools button").ariaPressed`) != "false" {
		t.Error("the switch stays pressed")
	}

	// A column sorts by numbers, both ways.
	first := `document.querySelector("table tbody tr").cells[0].textContent`
	column := "th button"
	do(t, ctx, call(column, "click"))
	if got := value[string](t, ctx, first); got != "1K" {
		t.Errorf("sorted by size, the first row has %q", got)
	}
	do(t, ctx, call(column, "click"))
	if got := value[string](t, ctx, first); got != "16K" {
		t.Errorf("sorted the other way, the first row has %q", got)
	}
	csv := value[string](t, ctx, `new Table(document.querySelector("table").cloneNode(true)).csv()`)
	if !strings.Contains(csv, `16K,"'=cmd ""|"" <script>alert(1)</script>"`) {
		t.Errorf("CSV:\n%s", csv)
	}

	// Hostile names stay text.
	if n := value[int](t, ctx, `document.querySelectorAll("article script, article img").length`); n != 0 {
		t.Errorf("%d elements came from names", n)
	}
	dark(t, ctx)
	printed(t, ctx)
	phone(t, ctx)
	if said := complaints(); len(said) > 0 {
		t.Errorf("the page complains: %q", said)
	}
}

// findings is a document as check makes it: a text, a drawing with a link, and a table with the section's title.
func findings() Document {
	lanes := []Lane{
		{Name: script, Slices: []Slice{{Begin: 0, End: 1, Kind: "write", Tip: script, Side: true}}},
		{Name: "rank 1", Slices: []Slice{{Begin: 1, End: 2, Kind: "read", Tip: "a read", Side: true}}},
	}
	long := Cell{Text: strings.Repeat(script+" ", 4)}
	return Document{Title: script, Status: Fail, Verdict: "1 finding", Sections: []Section{{
		Title: script, Status: Fail, Notes: []string{script}, Text: []string{strings.Repeat(script, 9)},
		Drawings: []Drawing{Timeline("the events before it", "", lanes)},
		Tables:   []Table{{Caption: script, Columns: []Column{{Title: "who"}}, Rows: [][]Cell{{long}}}},
	}}}
}

// hover moves the mouse over the middle of the first plot, where 4K is.
const hover = `{
	const over = document.querySelector(".u-over"), box = over.getBoundingClientRect();
	const at = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
	over.dispatchEvent(new MouseEvent("mouseenter", at));
	over.dispatchEvent(new MouseEvent("mousemove", at));
	undefined
}`

// dark: a browser that prefers dark pages gets one.
func dark(t *testing.T, ctx context.Context) {
	t.Helper()
	const background = `getComputedStyle(document.body).backgroundColor`
	scheme := func(name string) chromedp.Action {
		feature := emulation.MediaFeature{Name: "prefers-color-scheme", Value: name}
		return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{&feature})
	}
	for name, want := range map[string]string{"dark": "rgb(13, 17, 23)", "light": "rgb(255, 255, 255)"} {
		do(t, ctx, scheme(name))
		if got := value[string](t, ctx, background); got != want {
			t.Errorf("%s: the page is %s", name, got)
		}
		accessible(t, ctx, name)
	}
}

// printed: the head of a table stands on each page. Chromium prints no button there a second time, but text.
func printed(t *testing.T, ctx context.Context) {
	t.Helper()
	do(t, ctx, emulation.SetEmulatedMedia().WithMedia("print"))
	style := func(selector, property string) string {
		return value[string](t, ctx, fmt.Sprintf("getComputedStyle(document.querySelector(%q)).%s", selector, property))
	}
	for _, c := range []struct{ selector, property, want string }{
		{"thead", "display", "table-header-group"},
		{"thead", "breakInside", "avoid"},
		{"th button", "display", "contents"},
		{".scroll", "overflowX", "visible"},
		{".tools", "display", "none"},
	} {
		if got := style(c.selector, c.property); got != c.want {
			t.Errorf("in print %s has the %s %s, want %s", c.selector, c.property, got, c.want)
		}
	}
	dark := emulation.MediaFeature{Name: "prefers-color-scheme", Value: "dark"}
	do(t, ctx, emulation.SetEmulatedMedia().WithMedia("screen").WithFeatures([]*emulation.MediaFeature{&dark}))
	for _, c := range []struct{ event, want string }{
		{"beforeprint", "rgb(255, 255, 255)"},
		{"afterprint", "rgb(13, 17, 23)"},
	} {
		do(t, ctx, chromedp.Evaluate(fmt.Sprintf("dispatchEvent(new Event(%q)); undefined", c.event), nil))
		if got := style("body", "backgroundColor"); got != c.want {
			t.Errorf("%s: a dark page is %s, want %s", c.event, got, c.want)
		}
	}
}

// phone: on a narrow screen nothing but tables and drawings scrolls sideways.
func phone(t *testing.T, ctx context.Context) {
	t.Helper()
	do(t, ctx, emulation.SetDeviceMetricsOverride(360, 780, 2, true), chromedp.Sleep(100*time.Millisecond))
	if wide := value[int](t, ctx, `document.scrollingElement.scrollWidth`); wide > 360 {
		t.Errorf("on a phone of 360 pixels the page is %d wide", wide)
	}
}

// accessible has axe-core look for violations, if GPURUN_AXE names its script: axe.min.js of the npm package axe-core.
func accessible(t *testing.T, ctx context.Context, scheme string) {
	t.Helper()
	file := os.Getenv("GPURUN_AXE")
	if file == "" {
		t.Logf("%s: not examined by axe-core: GPURUN_AXE does not name its script", scheme)
		return
	}
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	do(t, ctx, chromedp.Evaluate(string(script)+"\n;undefined", nil), chromedp.Evaluate(
		`axe.run().then(r => JSON.stringify({rules: r.passes.length,
			found: r.violations.map(v => [v.id, v.nodes.map(n => n.html + " " + n.failureSummary)])}))`,
		&text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	var report struct {
		Rules int
		Found []any
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	if report.Rules < 15 || len(report.Found) > 0 {
		t.Errorf("%s: of %d rules that hold: %v", scheme, report.Rules, report.Found)
	}
}
