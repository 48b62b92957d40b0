// Package manifests checks the manifests in the folder scripts against the published schemas. It is a module of its
// own: the schemas' modules are large, and gpurun does not need them.
package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	batch "k8s.io/api/batch/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// kind is a kind of manifest: the type that it decodes to, and the file with its custom resource definition, in a
// module, if it is no part of Kubernetes.
type kind struct {
	new          func() any
	module, file string
}

var kinds = map[string]kind{
	"batch/v1 Job": {new: func() any { return new(batch.Job) }},
	"jobset.x-k8s.io/v1alpha2 JobSet": {
		func() any { return new(jobset.JobSet) },
		"sigs.k8s.io/jobset", "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
	},
	"trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime": {
		func() any { return new(trainer.ClusterTrainingRuntime) },
		"github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml",
	},
	"trainer.kubeflow.org/v1alpha1 TrainJob": {
		func() any { return new(trainer.TrainJob) },
		"github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
	},
}

// TestManifests checks every manifest. Rules in CEL (x-kubernetes-validations) and admission webhooks are not run.
func TestManifests(t *testing.T) {
	files, err := filepath.Glob("../kubernetes-*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range strings.Split("\n"+string(text), "\n---\n") {
			if err := check(t, []byte(document)); err != nil {
				t.Errorf("%s, document %d: %v", filepath.Base(file), i, err)
			}
		}
	}
}

// The checks do say no.
func TestMistakesAreFound(t *testing.T) {
	const name, old = 0, 1
	for file, mistakes := range map[string][][3]string{
		"../kubernetes-smoke.yaml": {
			{"unknown field", "backoffLimit:", "backofLimit:"},
			{"unknown field", "restartPolicy: Never", "restartpolicy: Never"},
			{"already set in map", "backoffLimit: 2", "backoffLimit: 2\n  backoffLimit: 3"},
			{"has no schema here", "batch/v1", "batch/v2"},
			{"cannot unmarshal string", "backoffLimit: 2", "backoffLimit: two"},
		},
		"../kubernetes-jobset.yaml": {
			{"value must be one of", "action: RestartJobSet", "action: Restart"},
			{"missing property 'type'", "- type: DisruptionTarget", "- status: \"True\""},
			{"unknown field", "onJobFailureReasons", "onJobFailureReason"},
		},
		"../kubernetes-jobset-restart.yaml": {
			{"unknown field", "restartPolicyRules", "restartRules"},
			{"missing property 'operator'", "operator: NotIn", "# operator"},
		},
		"../kubernetes-trainer.yaml": {
			{"unknown field", "torch: {}", "pytorch: {}"},
			{"missing property 'name'", "- name: copy-gpurun\n                      image", "- image"},
		},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ = bytes.Cut(text, []byte("\n---\n"))
		for _, m := range mistakes {
			wrong := bytes.Replace(text, []byte(m[old]), []byte(m[old+1]), 1)
			if err := check(t, wrong); err == nil || !strings.Contains(err.Error(), m[name]) {
				t.Errorf("%s with %q in place of %q: %v", file, m[old+1], m[old], err)
			}
		}
	}
}

// check checks one manifest by its type and by its schema.
func check(t *testing.T, text []byte) error {
	t.Helper()
	document, err := yaml.YAMLToJSONStrict(text) // refuses keys that stand twice
	if err != nil {
		return err
	}
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(document, &head); err != nil {
		return err
	}
	k, known := kinds[head.APIVersion+" "+head.Kind]
	if !known {
		return fmt.Errorf("%s %s has no schema here", head.APIVersion, head.Kind)
	}
	// Unlike encoding/json, this takes no key in other letters, and no key that the type lacks.
	unknown, err := strictjson.UnmarshalStrict(document, k.new())
	if err := errors.Join(append(unknown, err)...); err != nil {
		return err
	}
	if k.file == "" {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return err
	}
	return schemaOf(t, k).Validate(value)
}

// schemaOf is the schema in a custom resource definition.
func schemaOf(t *testing.T, k kind) *jsonschema.Schema {
	t.Helper()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", k.module).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), k.file))
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema any }
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(k.file, schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(k.file)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
