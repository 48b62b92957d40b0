package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/checkreport"
)

// Every field of the JSON is in docs/check.md.
func TestCheckGuideNamesAllFields(t *testing.T) {
	page := readDocument(t, filepath.Join("docs", "check.md"))
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(x reflect.Type) {
		for x.Kind() == reflect.Slice {
			x = x.Elem()
		}
		if x.Kind() != reflect.Struct || seen[x] {
			return
		}
		seen[x] = true
		for i := range x.NumField() {
			f := x.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" &&
				!strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/check.md does not name %s of %s", name, x)
			}
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[checkreport.Report]())
	if len(seen) < 5 {
		t.Errorf("%d types", len(seen))
	}
}
