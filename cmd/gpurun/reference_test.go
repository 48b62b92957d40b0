package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"gpurun/cmd/gpurun/program"
)

// documented are the commands as their help shows them: with the defaults of their flags. Each has a tree of its own,
// since help adds the defaults of inherited flags to the whole tree.
func documented(t *testing.T) (all []*cobra.Command) {
	t.Helper()
	var paths [][]string
	var add func(c *cobra.Command, path []string)
	add = func(c *cobra.Command, path []string) {
		if c.IsAvailableCommand() || !c.HasParent() {
			paths = append(paths, path)
		}
		for _, below := range c.Commands() {
			add(below, append(path[:len(path):len(path)], below.Name()))
		}
	}
	add(tree(), nil)
	for _, path := range paths {
		c, _, err := tree().Find(path)
		if err != nil {
			t.Fatal(err)
		}
		c.InitDefaultHelpFlag()
		c.HelpFunc()(c, nil)
		all = append(all, c)
	}
	return all
}

func tree() *cobra.Command {
	root := newRootCommand(&program.Invocation{Args: []string{"gpurun"}, Out: io.Discard, Err: io.Discard})
	root.SetOut(io.Discard)
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	return root
}

// pageName is the name of a command's page: gpurun-bench.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// TestReference compares docs/reference with the commands, and writes it with -update.
func TestReference(t *testing.T) {
	folder := filepath.Join(repository, "docs", "reference")
	update := flag.Lookup("update").Value.String() == "true"
	stale := map[string]bool{}
	for _, file := range glob(t, filepath.Join(folder, "*.md")) {
		stale[file] = true
	}
	for _, c := range documented(t) {
		file := filepath.Join(folder, pageName(c)+".md")
		delete(stale, file)
		page := markdown(t, c)
		if update {
			writeFile(t, file, page)
			continue
		}
		had, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; go generate ./cmd/gpurun writes it", err)
		}
		if diff := cmp.Diff(string(had), string(page)); diff != "" {
			t.Errorf("%s is not what the command says; go generate ./cmd/gpurun writes it:\n%s", file, diff)
		}
	}
	for file := range stale {
		if !update {
			t.Errorf("%s is about no command; go generate ./cmd/gpurun removes it", file)
		} else if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}

// markdown is the page of a command, with links between pages.
func markdown(t *testing.T, c *cobra.Command) []byte {
	t.Helper()
	var b bytes.Buffer
	link := func(name string) string { return strings.ReplaceAll(name, "_", "-") }
	if err := doc.GenMarkdownCustom(c, &b, link); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestManPages makes the man pages. GPURUN_MAN names a folder for them; their date is SOURCE_DATE_EPOCH.
func TestManPages(t *testing.T) {
	folder := os.Getenv("GPURUN_MAN")
	date := time.Unix(0, 0).UTC()
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		date = time.Unix(seconds, 0).UTC()
	}
	for _, c := range documented(t) {
		var b bytes.Buffer
		header := doc.GenManHeader{Section: "1", Source: "gpurun", Manual: "gpurun", Date: &date}
		if err := doc.GenMan(c, &header, &b); err != nil {
			t.Fatal(err)
		}
		if want := `.TH "` + strings.ToUpper(pageName(c)) + `" "1"`; !strings.Contains(b.String(), want) {
			t.Errorf("the page of %s has no %s", pageName(c), want)
		}
		if folder != "" {
			writeFile(t, filepath.Join(folder, pageName(c)+".1"), b.Bytes())
		}
	}
}

func writeFile(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
