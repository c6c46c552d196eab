package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"sort"
	"time"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	aggregatoropenapi "k8s.io/kube-aggregator/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	openapiutil "k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

const (
	// largestBody is kube-apiserver's limit, in bytes.
	largestBody = 3 * 1024 * 1024
	// shortestWatch is kube-apiserver's: a watch without a timeout ends after this time or up to twice as late.
	shortestWatch = 30 * time.Minute
)

// installed are the handlers of built-in kinds. All API servers of the process share them: they keep no state.
type installed struct {
	handler http.Handler
	groups  []string // sorted
	// metaModels are the models of metadata, with which models of custom resources are built.
	metaModels map[string]*spec.Schema
}

// handlers is a variable of the package so that it is not created in a synctest bubble, which may not share it.
var handlers = mustInstall()

func mustInstall() *installed {
	i, err := install()
	if err != nil {
		panic(fmt.Errorf("install the API: %w", err))
	}
	return i
}

func install() (*installed, error) {
	// kube-aggregator does this in a package that is not imported here.
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(aggregatorscheme.Scheme, v1)
	aggregatorscheme.Scheme.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.APIResourceList{})
	all, err := groups()
	if err != nil {
		return nil, err
	}
	extensions, metaModels, err := converterOf(crdapiserver.Scheme, crdopenapi.GetOpenAPIDefinitions, &apiextensionsv1.CustomResourceDefinition{})
	if err != nil {
		return nil, err
	}
	aggregation, _, err := converterOf(aggregatorscheme.Scheme, aggregatoropenapi.GetOpenAPIDefinitions, &apiregistrationv1.APIService{})
	if err != nil {
		return nil, err
	}
	others := map[string]groupInfo{
		apiextensions.GroupName: {
			genericserver.NewDefaultAPIGroupInfo(apiextensions.GroupName, crdapiserver.Scheme, metav1.ParameterCodec, crdapiserver.Codecs), extensions,
		},
		apiregistration.GroupName: {
			genericserver.NewDefaultAPIGroupInfo(apiregistration.GroupName, aggregatorscheme.Scheme, metav1.ParameterCodec, aggregatorscheme.Codecs), aggregation,
		},
	}
	builtIn := typeConverter{applyconfigurations.NewTypeConverter(legacyscheme.Scheme), managedfields.NewDeducedTypeConverter()}
	container := restful.NewContainer()
	container.Router(restful.CurlyRouter{})
	result := &installed{handler: container, metaModels: metaModels}
	var errs []error
	for group, storages := range all {
		info, ok := others[group]
		if !ok {
			info = groupInfo{genericserver.NewDefaultAPIGroupInfo(group, legacyscheme.Scheme, legacyscheme.ParameterCodec, legacyscheme.Codecs), builtIn}
		}
		_, _, err := info.version(group, storages).InstallREST(container)
		errs = append(errs, err)
		result.groups = append(result.groups, group)
	}
	sort.Strings(result.groups)
	return result, errors.Join(errs...)
}

// converterOf returns the type converter of a kind, and the models that it uses.
func converterOf(scheme *runtime.Scheme, definitions common.GetOpenAPIDefinitions, kind runtime.Object) (managedfields.TypeConverter, map[string]*spec.Schema, error) {
	config := genericserver.DefaultOpenAPIV3Config(definitions, openapi.NewDefinitionNamer(scheme))
	models, err := builder3.BuildOpenAPIDefinitionsForResources(config, openapiutil.GetCanonicalTypeName(kind))
	if err != nil {
		return nil, nil, err
	}
	converter, err := managedfields.NewTypeConverter(models, false)
	return converter, models, err
}

// groupInfo is how the objects of a group are encoded and applied.
type groupInfo struct {
	genericserver.APIGroupInfo
	converter managedfields.TypeConverter
}

func (i groupInfo) version(group string, s storages) *endpoints.APIGroupVersion {
	root := "/apis"
	if group == "" {
		root = "/api"
	}
	served := map[string][]string{}
	for resource := range s {
		served[resource] = []string{schema.GroupVersion{Group: group, Version: "v1"}.String()}
	}
	return &endpoints.APIGroupVersion{
		Root: root, GroupVersion: schema.GroupVersion{Group: group, Version: "v1"}, Storage: s, AllServedVersionsByResource: served,
		OptionsExternalVersion: i.OptionsExternalVersion, MetaGroupVersion: i.MetaGroupVersion,
		Serializer: i.NegotiatedSerializer, ParameterCodec: i.ParameterCodec,
		Typer: i.Scheme, Creater: i.Scheme, //nolint:misspell // a name of k8s.io/apiserver
		Convertor: i.Scheme, ConvertabilityChecker: i.Scheme, Defaulter: i.Scheme,
		Namer: runtime.Namer(meta.NewAccessor()), UnsafeConvertor: runtime.UnsafeObjectConvertor(i.Scheme), TypeConverter: i.converter,
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		Authorizer:                 authority{}, Admit: plugins{}, MinRequestTimeout: shortestWatch, MaxRequestBodyBytes: largestBody,
	}
}
