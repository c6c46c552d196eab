package labelling_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestVolumeOf(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want labelling.Volume
		ok   bool
	}{
		"CSI":               {`csi: {driver: disk.csi.example.com, volumeHandle: vol-1}`, labelling.Volume{Driver: "disk.csi.example.com", Handle: "vol-1"}, true},
		"a path on a node":  {`hostPath: {path: /data}`, labelling.Volume{}, false},
		"a network's share": {`nfs: {server: files, path: /data}`, labelling.Volume{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := labelling.VolumeOf(volume(t, `spec: {`+test.spec+`}`))
			installtest.Same(t, "the volume", test.want, got)
			installtest.Same(t, "it is known", test.ok, ok)
		})
	}
}

func TestCompare(t *testing.T) {
	type labels = map[string]string
	for name, test := range map[string]struct {
		has, known labels
		missing    labels
		warnings   []string
	}{
		"nothing is known":            {labels{"tier": "fast"}, nil, labels{}, nil},
		"all are missing":             {nil, labels{"zone": "north-1", "region": "north"}, labels{"zone": "north-1", "region": "north"}, nil},
		"one is missing":              {labels{"zone": "north-1"}, labels{"zone": "north-1", "region": "north"}, labels{"region": "north"}, nil},
		"none is missing":             {labels{"zone": "north-1", "tier": "fast"}, labels{"zone": "north-1"}, labels{}, nil},
		"one differs, one is missing": {labels{"zone": "south-1"}, labels{"zone": "north-1", "region": "north"}, labels{"region": "north"}, []string{`label zone stays "south-1", though the volume's is "north-1"`}},
		"an empty value is a value":   {labels{"zone": ""}, labels{"zone": "north-1"}, labels{}, []string{`label zone stays "", though the volume's is "north-1"`}},
		"differences are in order": {labels{"b": "1", "a": "1", "c": "1"}, labels{"c": "2", "b": "2", "a": "2"}, labels{}, []string{
			`label a stays "1", though the volume's is "2"`, `label b stays "1", though the volume's is "2"`, `label c stays "1", though the volume's is "2"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pv := &corev1.PersistentVolume{}
			pv.Labels = test.has
			missing, warnings := labelling.Compare(pv, test.known)
			installtest.Same(t, "missing", test.missing, missing)
			installtest.Same(t, "warnings", test.warnings, warnings)
		})
	}
}

func TestParseCatalogue(t *testing.T) {
	got, err := labelling.ParseCatalogue([]byte(`
volumes:
- driver: disk.csi.example.com
  handle: vol-1
  labels: {topology.kubernetes.io/zone: north-1}
- driver: disk.csi.example.com
  handle: vol-2
- driver: share.csi.example.com
  handle: vol-1
  labels: {topology.kubernetes.io/zone: ""}
`))
	installtest.Must(t, err)
	want := labelling.Catalogue{
		{Driver: "disk.csi.example.com", Handle: "vol-1"}:  {"topology.kubernetes.io/zone": "north-1"},
		{Driver: "disk.csi.example.com", Handle: "vol-2"}:  nil,
		{Driver: "share.csi.example.com", Handle: "vol-1"}: {"topology.kubernetes.io/zone": ""},
	}
	installtest.Same(t, "catalogue", want, got)
}

func TestParseCatalogueNamesEveryMistake(t *testing.T) {
	_, err := labelling.ParseCatalogue([]byte(`
volumes:
- {driver: d, handle: h}
- {driver: d}
- {driver: d, handle: h}
- {driver: d, handle: i, labels: {zone: "north 1", -zone: north}}
`))
	const want = `volumes[1]: driver and handle must both be set
volumes[2]: volume "h" of d is listed twice
volumes[3].labels[-zone]: the key is not valid: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
volumes[3].labels[zone]: "north 1" is not valid: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
	installtest.Same(t, "the error", want, fmt.Sprint(err))
}

func TestParseCatalogueRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{"volumes: [{driver: d, handle: h, label: {}}]", "volumes: {}", "]"} {
		_, err := labelling.ParseCatalogue([]byte(text))
		installtest.Same(t, text+" is taken for a catalogue", false, err == nil)
	}
}

func volume(t *testing.T, text string) *corev1.PersistentVolume {
	t.Helper()
	pv := &corev1.PersistentVolume{}
	installtest.Must(t, yaml.UnmarshalStrict([]byte(text), pv))
	return pv
}
