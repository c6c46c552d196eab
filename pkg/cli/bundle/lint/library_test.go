package lint

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Every sentence of OLM's library is reported for the field that it is about, with the next step.
func TestLibraryFindingsSayWhere(t *testing.T) {
	const (
		csv         = "manifests/crdconversion.clusterserviceversion.yaml"
		crd         = "manifests/crdconversion.example.com_caches.yaml"
		more        = "manifests/more.yaml"
		annotations = "metadata/annotations.yaml"
	)
	metadata := func(f files) map[string]any { return f.at("metadata").(map[string]any) }
	spec := func(f files) map[string]any { return f.at("spec").(map[string]any) }
	annotate := func(key, value string) func(files) {
		return func(f files) { metadata(f)["annotations"].(map[string]any)[key] = value }
	}
	owned := func(f files) map[string]any {
		return f.at("spec", "customresourcedefinitions", "owned", 0).(map[string]any)
	}
	add := func(object map[string]any) func(files) {
		return func(f files) { f[more] = object }
	}
	role := func(group, resource, verb string, names ...any) map[string]any {
		rule := map[string]any{"apiGroups": list(group), "resources": list(resource), "verbs": list(verb), "resourceNames": names}
		harmless := map[string]any{"apiGroups": list(""), "resources": list("pods"), "verbs": list("get")}
		return map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "more"}, "rules": list(harmless, rule)}
	}
	budget := func(field, value string) map[string]any {
		return map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "more"}, "spec": map[string]any{field: value}}
	}
	permit := func(group, resource, verb string) func(files) {
		return func(f files) {
			f.at("spec", "install", "spec").(map[string]any)["clusterPermissions"] = list(map[string]any{
				"serviceAccountName": "more", "rules": role(group, resource, verb)["rules"],
			})
		}
	}

	covered := map[string]bool{}
	for name, test := range map[string]struct {
		do         func(files)
		code       string
		contains   string
		file, path string
	}{
		"a name that is none":            {func(f files) { metadata(f)["name"] = "A Name" }, "olm-csv", "metadata.name ", csv, "metadata.name"},
		"a predecessor that is none":     {func(f files) { spec(f)["replaces"] = "A Name" }, "olm-csv", "spec.replaces ", csv, "spec.replaces"},
		"examples twice":                 {annotate("olm.examples", "[]"), "olm-csv", "both `alm-examples` and", csv, "metadata.annotations[olm.examples]"},
		"no examples":                    {func(f files) { delete(metadata(f)["annotations"].(map[string]any), "alm-examples") }, "olm-csv", "annotations not found", csv, "metadata.annotations"},
		"examples that are no JSON":      {annotate("alm-examples", "["), "olm-csv", "invalid example", csv, "metadata.annotations[alm-examples]"},
		"examples that are no objects":   {annotate("alm-examples", `["a"]`), "olm-csv", "error decoding example", csv, "metadata.annotations[alm-examples]"},
		"an example of another client's": {annotate("alm-examples", `[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]`), "olm-csv", "example must have a provided API", csv, "metadata.annotations[alm-examples]"},
		"an API without example":         {annotate("alm-examples", `[]`), "olm-csv", "should have an example annotation", csv, "spec.customresourcedefinitions.owned[0]"},
		"an APIService without example": {func(f files) {
			spec(f)["apiservicedefinitions"] = map[string]any{"owned": list(apiService("api.example.com", "a"))}
		}, "olm-csv", "should have an example annotation", csv, "spec.apiservicedefinitions.owned[0]"},
		"an owned name without group":    {func(f files) { owned(f)["name"] = "caches" }, "olm-csv", "couldn't parse plural.group", csv, "spec.customresourcedefinitions.owned[0].name"},
		"no modes":                       {func(f files) { spec(f)["installModes"] = list() }, "olm-csv", "install modes not found", csv, "spec.installModes"},
		"a mode of two":                  {func(f files) { f.modes("AllNamespaces", "OwnNamespace") }, "olm-csv", "only AllNamespaces InstallModeType", csv, "spec.installModes"},
		"no mode supported":              {func(f files) { f.modes() }, "olm-csv", "none of InstallModeTypes", csv, "spec.installModes"},
		"an old version that is none":    {func(f files) { spec(f)["minKubeVersion"] = "one" }, "olm-csv", "inKubeVersion", csv, "spec.minKubeVersion"},
		"no old version":                 {func(f files) { delete(spec(f), "minKubeVersion") }, "olm-csv", "inKubeVersion", csv, "spec.minKubeVersion"},
		"a mandatory field left out":     {func(f files) { delete(spec(f), "displayName") }, "olm-csv", "required field missing", csv, "spec.displayName"},
		"an annotation in another case":  {annotate("olm.skiprange", "<1"), "olm-csv", "uses wrong case", csv, "metadata.annotations[olm.skiprange]"},
		"properties as an annotation":    {annotate("olm.properties", "[]"), "olm-csv", "found olm.properties annotation", csv, "metadata.annotations[olm.properties]"},
		"a definition twice":             {func(f files) { f[more] = f[crd] }, "olm-bundle", "duplicate CRD", more, "spec.names.kind"},
		"a definition that is not there": {func(f files) { delete(f, crd) }, "olm-bundle", "not found in bundle", csv, "spec.customresourcedefinitions.owned[1]"},
		"a definition that is not owned": {func(f files) { delete(spec(f), "customresourcedefinitions") }, "olm-bundle", "but not defined in CSV", crd, "spec.names.kind"},
		"an account twice": {func(f files) {
			f[more] = map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": f.pod()["serviceAccountName"]}}
		}, "olm-bundle", "invalid service account", more, "metadata.name"},
		"a bundle that is too big":             {add(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "more"}, "data": map[string]any{"a": noise(2 << 20)}}), "olm-bundle", "maximum bundle compressed size", more, ""},
		"a release under another name":         {func(f files) { spec(f)["release"] = "1" }, "olm-bundle", "bundle name with release", csv, "metadata.name"},
		"an image that is none":                {func(f files) { spec(f)["relatedImages"] = list(map[string]any{"name": "a", "image": "A Name"}) }, "olm-bundle", "relatedImages[", csv, "spec.relatedImages[0].image"},
		"a budget of nothing":                  {add(budget("maxUnavailable", "0%")), "olm-object", "maxUnavailable field", more, "spec.maxUnavailable"},
		"a budget of all":                      {add(budget("minAvailable", "100%")), "olm-object", "minAvailable field", more, "spec.minAvailable"},
		"a class for all":                      {add(map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": "more"}, "value": 1, "globalDefault": true}), "olm-object", "globalDefault field", more, "globalDefault"},
		"the right to change budgets":          {add(role("policy", "poddisruptionbudgets", "update")), "olm-object", "RBAC includes permission", more, "rules[1]"},
		"the right to change contexts":         {add(role("security.openshift.io", "securitycontextconstraints", "update", "anyuid")), "olm-object", "RBAC includes permission", more, "rules[1]"},
		"a role that is none":                  {add(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "more"}, "rules": "all"}), "olm-object", "error unmarshaling", more, ""},
		"a group's annotation in another case": {add(map[string]any{"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": map[string]any{"name": "more", "annotations": map[string]any{"olm.ProvidedAPIs": "a"}}}), "olm-object", "uses wrong case", more, "metadata.annotations[olm.ProvidedAPIs]"},
		"an API that no longer exists":         {func(f files) { f.of("PodDisruptionBudget")["apiVersion"] = "policy/v1beta1" }, "olm-removed-apis", "this bundle is using APIs", "manifests/crdconversion-webhook_policy_v1_poddisruptionbudget.yaml", "apiVersion"},
		"a definition of old":                  {func(f files) { f[crd]["apiVersion"] = "apiextensions.k8s.io/v1beta1" }, "olm-removed-apis", "this bundle is using APIs", crd, "apiVersion"},
		"the right to what no longer exists":   {permit("policy", "podsecuritypolicies", "use"), "olm-removed-apis", "this bundle is using APIs", csv, "spec.install.spec.clusterPermissions[0].rules[1]"},
		"resources of what no longer exists": {func(f files) {
			owned(f)["resources"] = list(map[string]any{"kind": "CronJob", "version": "batch/v1beta1", "name": "a"})
		}, "olm-removed-apis", "this bundle is using APIs", csv, "spec.customresourcedefinitions.owned[0].resources[0]"},
		"no Deployment":               {func(f files) { delete(f.at("spec", "install", "spec").(map[string]any), "deployments") }, "olm-good-practices", "unable to find a deployment", csv, "spec.install.spec.deployments"},
		"no requests":                 {func(f files) { delete(f.container(), "resources") }, "olm-good-practices", "unable to find the resource requests", csv, "spec.install.spec.deployments[0].spec.template.spec.containers[0].resources"},
		"a name without version":      {func(f files) { metadata(f)["name"] = "caches" }, "olm-good-practices", "csv.metadata.Name", csv, "metadata.name"},
		"a channel of another name":   {func(f files) { f.annotations()["operators.operatorframework.io.bundle.channels.v1"] = "zeta,beta" }, "olm-good-practices", "channel(s)", annotations, "annotations[operators.operatorframework.io.bundle.channels.v1]"},
		"the right to define":         {permit("apiextensions.k8s.io", "customresourcedefinitions", "create"), "olm-good-practices", "permissions to create CRD", csv, "spec.install.spec.clusterPermissions[0].rules[1]"},
		"an API without description":  {func(f files) { delete(owned(f), "description") }, "olm-good-practices", "has an empty description", csv, "spec.customresourcedefinitions.owned[0]"},
		"a provider without a name":   {func(f files) { spec(f)["provider"] = map[string]any{"name": " "} }, "olm-operatorhub", "csv.Spec.Provider.Name", csv, "spec.provider.name"},
		"a maintainer without a name": {func(f files) { spec(f)["maintainers"] = list(map[string]any{"email": "a@example.com"}) }, "olm-operatorhub", "csv.Spec.Maintainers", csv, "spec.maintainers"},
		"a link to nowhere":           {func(f files) { spec(f)["links"] = list(map[string]any{"name": "a", "url": "nowhere"}) }, "olm-operatorhub", "csv.Spec.Links", csv, "spec.links"},
		"no version":                  {func(f files) { delete(spec(f), "version") }, "olm-operatorhub", "csv.Spec.Version", csv, "spec.version"},
		"no icon":                     {func(files) {}, "olm-operatorhub", "csv.Spec.Icon", csv, "spec.icon"},
		"an unknown category":         {annotate("categories", "Odds and Ends"), "olm-categories", `Annotations["categories"]`, csv, "metadata.annotations[categories]"},
		"an unknown capability":       {annotate("capabilities", "All of Them"), "olm-capabilities", "capabilities level", csv, "metadata.annotations[capabilities]"},
	} {
		covered[test.contains] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := readFiles(t, "../../../../examples/crdconversion/bundle-v2")
			test.do(f)
			var found []string
			for _, finding := range Run(inspect(t, f)).Findings {
				if finding.Code == test.code && strings.Contains(finding.What, test.contains) {
					found = append(found, finding.File+" "+finding.Path)
					if finding.Line == 0 || finding.Remedy == "" {
						t.Errorf("line %d, way out %q: %s", finding.Line, finding.Remedy, finding.What)
					}
				}
			}
			installtest.Among(t, found, test.file+" "+test.path)
		})
	}
	for _, known := range libraryMessages {
		installtest.Same(t, "a case makes the library report "+known.contains, true, covered[known.contains])
	}
}

// An object of an API that every cluster has removed is an error, independent of the bundle's oldest version, and
// what a cluster takes all the same is as bad as OLM's validator has it.
func TestRemovedAPIsAreAsBadAsTheyAre(t *testing.T) {
	spec := func(f files) map[string]any { return f.at("spec").(map[string]any) }
	object := func(f files) { f.of("PodDisruptionBudget")["apiVersion"] = "policy/v1beta1" }
	permission := func(f files) {
		f.at("spec", "install", "spec").(map[string]any)["clusterPermissions"] = list(map[string]any{
			"serviceAccountName": "more", "rules": list(map[string]any{"apiGroups": list("policy"), "resources": list("podsecuritypolicies"), "verbs": list("use")}),
		})
	}
	listed := func(f files) {
		f.at("spec", "customresourcedefinitions", "owned", 0).(map[string]any)["resources"] = list(map[string]any{"kind": "CronJob", "version": "batch/v1beta1", "name": "a"})
	}
	for name, test := range map[string]struct {
		do     func(files)
		oldest string
		want   Level // none for nothing
	}{
		"an object":                               {object, "", Error},
		"an object, of old":                       {object, "1.16.0", Error},
		"an object, since it no longer exists":    {object, "1.25.0", Error},
		"a permission":                            {permission, "", Warning},
		"a permission, since it no longer exists": {permission, "1.29.0", Warning},
		"a resource that is listed":               {listed, "", Warning},
		"a resource that is listed, of old":       {listed, "1.24.0", Warning},
		"a resource that is listed, since then":   {listed, "1.25.0", Error},
		"nothing but a version that is none":      {func(files) {}, "one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := readFiles(t, "../../../../examples/crdconversion/bundle-v2")
			test.do(f)
			spec(f)["minKubeVersion"] = test.oldest
			got := lists.Map(findingsOf(inspect(t, f), "olm-removed-apis"), func(f Finding) Level { return f.Level })
			if want := []Level{test.want}; test.want == "" && len(got) > 0 || test.want != "" && !slices.Equal(got, want) {
				t.Errorf("found as %q, want %q", got, test.want)
			}
		})
	}
}

// noise is text that cannot be compressed.
func noise(size int) string {
	text := make([]byte, size)
	random := rand.NewChaCha8([32]byte{})
	for i := range text {
		text[i] = 'a' + byte(random.Uint64()%26)
	}
	return string(text)
}
