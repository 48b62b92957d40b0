package main

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// generatedPages are written by tests and scripts.
var generatedPages = []string{"docs/check-mutants.md", "docs/faults.md", "docs/instructions.md"}

// Sentences of the documents are short: a reader takes in one idea at a time.
func TestSentencesAreShort(t *testing.T) {
	const most = 25
	checked := 0
	for _, name := range documents(t) {
		if !strings.HasPrefix(name, "docs/") && name != "README.md" || slices.Contains(generatedPages, name) {
			continue
		}
		for _, sentence := range sentences(readDocument(t, name)) {
			checked++
			if n := len(strings.Fields(sentence)); n > most {
				t.Errorf("%s: a sentence of %d words, %d at most: %s", name, n, most, sentence)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("found %d sentences", checked)
	}
}

// prefer has words that the documents do not use, and what to write instead: misspelled words, names in another
// spelling, and metaphors of our own where the field has a term.
var prefer = map[string]string{
	"acces": "access", "accross": "across", "adress": "address", "allready": "already", "alot": "a lot",
	"begining": "beginning", "comming": "coming", "completly": "completely", "definitly": "definitely",
	"dependant": "dependent", "enviroment": "environment", "existant": "existent", "explicitely": "explicitly",
	"independant": "independent", "informations": "information", "lenght": "length", "neccessary": "necessary",
	"occured": "occurred", "occurence": "occurrence", "ommitted": "omitted", "paralell": "parallel",
	"performace": "performance", "prefered": "preferred", "recieve": "receive", "refered": "referred",
	"seperate": "separate", "succesful": "successful", "succesfully": "successfully", "suppport": "support",
	"syncronize": "synchronize", "teh": "the", "threshhold": "threshold", "untill": "until", "usefull": "useful",
	"wich": "which", "writting": "writing",

	"signalled": "signaled", "normalises": "normalizes", "normalisation": "normalization",
	"behaviour": "behavior, as in American English", "behaviours": "behaviors", "colour": "color", "colours": "colors",
	"neighbour": "neighbor", "neighbours": "neighbors", "licence": "license", "serialise": "serialize",
	"synchronise": "synchronize", "initialise": "initialize", "initialised": "initialized", "normalise": "normalize",
	"normalised": "normalized", "recognise": "recognize", "cancelled": "canceled", "labelled": "labeled",

	"Nvidia": "NVIDIA", "nVidia": "NVIDIA", "Cuda": "CUDA", "Nccl": "NCCL", "Pytorch": "PyTorch", "Github": "GitHub",
	"Gpurun": "gpurun", "GPURun": "gpurun", "SLURM": "Slurm", "Torchrun": "torchrun", "all-reduce": "allreduce",

	"surroundings": "capabilities", "outlet": "writer", "patience": "deadline", "hurried": "deadline",
	"naps": "back-off", "crew": "worker threads", "handover": "epilogue store", "strangers": "callers without the token",
	"hopeless": "skipped after a time-out", "contestant": "candidate", "heeds": "obeys",
}

func TestSpellingOfDocuments(t *testing.T) {
	for _, name := range documents(t) {
		page := readDocument(t, name)
		for _, text := range append(sentences(page), cells(page)...) {
			wantSpelling(t, name, text)
		}
	}
}

func TestSpellingOfKernels(t *testing.T) {
	kernels := 0
	err := fs.WalkDir(os.DirFS(repository), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".cu", ".cuh"}, filepath.Ext(name)) {
			return err
		}
		kernels++
		for line := range strings.Lines(readDocument(t, name)) {
			wantSpelling(t, name, line)
		}
		return nil
	})
	if err != nil || kernels < 50 {
		t.Errorf("%d files of kernels, %v", kernels, err)
	}
}

var words = regexp.MustCompile(`\w+(?:-[a-z]+)?`)

// wantSpelling wants no word in a text that prefer has a better one for.
func wantSpelling(t *testing.T, name, text string) {
	t.Helper()
	for _, word := range words.FindAllString(text, -1) {
		if better := cmp.Or(prefer[word], prefer[strings.ToLower(word)]); better != "" {
			t.Errorf("%s has %q: write %s: %s", name, word, better, text)
		}
	}
}

var (
	notProse = regexp.MustCompile(`^(    |\||#|!|<!--)`)
	listItem = regexp.MustCompile(`^ *(- |\d+\. )`)
	linkTo   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	ends     = regexp.MustCompile(`[.?!:;]["*)]*\s+`)
)

// sentences are those of the paragraphs and lists of a document. Semicolons and colons end them too; a code span is one
// word.
func sentences(document string) []string {
	var all []string
	var paragraph []string
	end := func() {
		text := linkTo.ReplaceAllString(strings.Join(paragraph, " "), "$1")
		all = append(all, ends.Split(codeSpan.ReplaceAllString(text, "CODE"), -1)...)
		paragraph = nil
	}
	for line := range strings.Lines(document) {
		text := strings.TrimSpace(line)
		if item := listItem.FindString(line); text == "" || item != "" || notProse.MatchString(line) {
			end()
			text = strings.TrimPrefix(line, item)
		}
		if text = strings.TrimSpace(text); text != "" && !notProse.MatchString(line) {
			paragraph = append(paragraph, text)
		}
	}
	end()
	return all
}

// cells are the rows of a document's tables, and its headings.
func cells(document string) []string {
	var all []string
	for line := range strings.Lines(document) {
		if strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") {
			text := linkTo.ReplaceAllString(line, "$1")
			all = append(all, strings.TrimSpace(codeSpan.ReplaceAllString(text, "CODE")))
		}
	}
	return all
}

func TestSentences(t *testing.T) {
	got := sentences("# Head\n\nOne `two three` is [four](x.md) here. Five; six:\n\n    code\n\n" +
		"- Seven\n  eight.\n- Nine\n\n| a |\n")
	want := []string{"One CODE is four here", "Five", "six:", "Seven eight.", "Nine"}
	got = slices.DeleteFunc(got, func(s string) bool { return s == "" })
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if rows := cells("# A `b`\ntext\n| c |\n"); !slices.Equal(rows, []string{"# A CODE", "| c |"}) {
		t.Errorf("%q", rows)
	}
}
