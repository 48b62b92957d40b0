package suggest

import "testing"

// One or two names are suggested, and never another word for the same thing.
func TestMeant(t *testing.T) {
	names := map[string]string{
		"allreduce": "allreduce", "all-reduce": "allreduce", "all_reduce": "allreduce", "reduce": "reduce",
		"gather":  "gather",
		"scatter": "scatter", "push": "push", "pull": "pull", "ll": "ll", "pump": "pump",
	}
	for word, want := range map[string]string{
		"allredcue":  `unknown word "allredcue"; did you mean "allreduce"?`,
		"all-redcue": `unknown word "all-redcue"; did you mean "allreduce"?`,
		"pusl":       `unknown word "pusl"; did you mean "pull" or "push"?`,
		"scat":       `unknown word "scat"; did you mean "scatter"?`,
		"zzzzz":      `unknown word "zzzzz"; look at the list`,
		"allxreduce": `unknown word "allxreduce"; did you mean "allreduce"?`,
		"pu":         `unknown word "pu"; did you mean "pull" or "pump"?`,
		"":           `unknown word ""; look at the list`,
	} {
		if got := Meant("word", word, names, "look at the list").Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
