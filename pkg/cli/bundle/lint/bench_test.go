package lint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// BenchmarkValidate compares all checks, reading included, with the validators of OLM's
// library alone, read by its own loader, and fails when they take twice as long. BUNDLES names
// a folder with a bundle in NAME/VERSION for each operator; by default the examples are read.
func BenchmarkValidate(b *testing.B) {
	pattern := "../../../../examples/*/bundle*/metadata"
	if folder := os.Getenv("BUNDLES"); folder != "" {
		pattern = filepath.Join(folder, "*", "*", "metadata")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		b.Fatalf("no bundle at %s: %v", pattern, err)
	}
	var own, library time.Duration
	for b.Loop() {
		start := time.Now()
		validateAll(b, found)
		between := time.Now()
		validateByLibrary(found)
		own, library = own+between.Sub(start), library+time.Since(between)
	}
	ratio := own.Seconds() / library.Seconds()
	b.ReportMetric(ratio, "x-library")
	b.ReportMetric(own.Seconds()/float64(b.N), "s")
	b.ReportMetric(library.Seconds()/float64(b.N), "library-s")
	b.ReportMetric(0, "ns/op")
	if ratio >= 2 {
		b.Fatalf("all checks take %.2f times as long as OLM's library alone, and may take less than 2", ratio)
	}
}

func validateAll(b *testing.B, found []string) {
	b.Helper()
	for _, metadata := range found {
		read := installtest.OrPanic(bundle.Inspect(filepath.Dir(metadata)))
		Run(read)
	}
}

func validateByLibrary(found []string) {
	validators := validator.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator, validation.ObjectValidator,
		validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator, validation.OperatorHubV2Validator,
		validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator,
	}
	for _, metadata := range found {
		read, err := manifests.GetBundleFromDir(filepath.Dir(metadata))
		if err != nil {
			continue // two of its own rules refuse what the checks continue with
		}
		validators.Validate(read.ObjectsToValidate()...)
	}
}

// maxManyWebhooks is how long the checks of a bundle with 2,000 webhooks may take.
const maxManyWebhooks = 2 * time.Second

// BenchmarkManyWebhooks fails when the checks take longer, as they do when one compares each webhook with each other.
func BenchmarkManyWebhooks(b *testing.B) {
	for name, change := range manyWebhooks {
		b.Run(name, func(b *testing.B) {
			text := manyWebhooksBundle(b, change)
			for b.Loop() {
				Run(bundle.InspectFS(text, "many"))
			}
			if took := b.Elapsed() / time.Duration(b.N); took > maxManyWebhooks {
				b.Fatalf("%s, and at most %s are allowed", took, maxManyWebhooks)
			}
		})
	}
}

// manyWebhooks are bundles of 2,000 webhooks, from which each check has to find something, or nothing.
var manyWebhooks = map[string]func(i int, webhook map[string]any){
	"all alike": func(int, map[string]any) {},
	"each with its name": func(i int, w map[string]any) {
		w["generateName"] = fmt.Sprintf("w%d.example.com", i)
	},
	"each with its name and path": func(i int, w map[string]any) {
		w["generateName"], w["webhookPath"] = fmt.Sprintf("w%d.example.com", i), fmt.Sprintf("/%d", i)
	},
	"each with its Deployment": func(i int, w map[string]any) {
		w["generateName"], w["deploymentName"] = fmt.Sprintf("w%d.example.com", i), fmt.Sprintf("d%d", i)
	},
	"all of everything": func(i int, w map[string]any) {
		w["generateName"] = fmt.Sprintf("w%d.example.com", i)
		w["rules"] = list(map[string]any{"apiGroups": list("*"), "apiVersions": list("*"), "resources": list("*/*"), "operations": list("*")})
	},
	"conversions": func(i int, w map[string]any) {
		w["generateName"], w["type"], w["conversionCRDs"] = fmt.Sprintf("w%d.example.com", i), "ConversionWebhook", list(fmt.Sprintf("shops%d.example.com", i))
		delete(w, "rules")
	},
}

func manyWebhooksBundle(b *testing.B, change func(int, map[string]any)) fs.FS {
	b.Helper()
	f := readFiles(b, "../../../../examples/projectpolicy/bundle")
	f.at("spec").(map[string]any)["webhookdefinitions"] = f.at("spec", "webhookdefinitions").([]any)[:1]
	for i := range 1999 {
		f.another(func(w map[string]any) { change(i, w) })
	}
	return f.fs(b)
}
