package ci

import (
	"encoding/xml"
	"io"
	"strconv"
)

// Case is a test case of JUnit XML for what is no result of a collective. Without a problem it has passed.
type Case struct {
	Suite, Name    string
	Seconds        float64
	Failure, Error *Problem
}

// Problem is what is wrong with a case.
type Problem struct{ Type, Message, Text string }

// WriteCases writes cases as JUnit XML, in suites by their names.
func WriteCases(w io.Writer, title string, cases []Case) error {
	doc := testSuites{Name: title}
	for _, c := range cases {
		doc.add(c.Suite, testCase{
			Name: c.Name, Time: strconv.FormatFloat(c.Seconds, 'f', 3, 64), Failure: c.Failure.finding(),
			Error: c.Error.finding(),
		})
	}
	return doc.write(w)
}

func (p *Problem) finding() *finding {
	if p == nil {
		return nil
	}
	return &finding{Type: p.Type, Message: p.Message, Text: p.Text}
}

// write writes the document with its header.
func (d *testSuites) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(d); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
