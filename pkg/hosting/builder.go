package hosting

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/quote"
)

// Builder builds one command of controllers and webhooks. Errors in what is registered are reported
// when the command runs, so that registering needs no error handling.
type Builder struct {
	name        string
	flags       *pflag.FlagSet
	controllers map[string]Controller
	webhooks    map[string]Webhook
	errs        []error
}

// NewBuilder returns a Builder for the command with that name. The name is also the name of the
// leader election's Lease, and a part of the names of the webhook configurations that the command
// writes. It is a lower case DNS label or domain name.
func NewBuilder(name string) *Builder {
	b := &Builder{
		name:        name,
		flags:       pflag.NewFlagSet(name, pflag.ContinueOnError),
		controllers: map[string]Controller{},
		webhooks:    map[string]Webhook{},
	}
	for _, msg := range validation.IsDNS1123Subdomain(name) {
		b.addError("NewBuilder(%q): %s", name, msg)
	}
	return b
}

// Flags returns the set for the author's own flags. They are parsed when the command runs, before
// controllers and webhooks start.
func (b *Builder) Flags() *pflag.FlagSet { return b.flags }

// RegisterController adds a controller. The flag --controllers selects it by its name.
func (b *Builder) RegisterController(name string, run Controller) {
	switch {
	case run == nil:
		b.addError("controller %q: it has no function", name)
	case b.controllers[name] != nil:
		b.addError("controller %q is registered twice: use another name, or DeregisterController first", name)
	}
	b.checkName("controller", name)
	b.controllers[name] = run
}

// DeregisterController removes a controller that other code registered, such as a base of several commands.
func (b *Builder) DeregisterController(name string) {
	if _, ok := b.controllers[name]; !ok {
		b.addError("controller %q is not registered: registered are %s", name, quote.List(b.controllerNames()))
	}
	delete(b.controllers, name)
}

// RegisterWebhook adds a webhook. The flag --webhooks selects it by its name.
func (b *Builder) RegisterWebhook(name string, webhook Webhook) {
	if _, ok := b.webhooks[name]; ok {
		b.addError("webhook %q is registered twice: use another name, or DeregisterWebhook first", name)
	}
	b.checkName("webhook", name)
	b.webhooks[name] = webhook
}

// DeregisterWebhook removes a webhook that other code registered.
func (b *Builder) DeregisterWebhook(name string) {
	if _, ok := b.webhooks[name]; !ok {
		b.addError("webhook %q is not registered: registered are %s", name, quote.List(b.webhookNames()))
	}
	delete(b.webhooks, name)
}

// checkName checks that a name is valid in flags, paths, metrics and object names.
func (b *Builder) checkName(what, name string) {
	for _, msg := range validation.IsDNS1123Label(name) {
		b.addError("%s %q: %s", what, name, msg)
	}
}

func (b *Builder) addError(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *Builder) check() error {
	errs := slices.Clone(b.errs)
	if len(b.controllers)+len(b.webhooks) == 0 {
		errs = append(errs, errors.New("neither a controller nor a webhook is registered"))
	}
	paths := map[string]string{}
	for _, name := range b.webhookNames() {
		w := b.webhooks[name].withDefaults(name)
		if err := w.check(); err != nil {
			errs = append(errs, fmt.Errorf("webhook %q: %w", name, err))
		}
		if other, taken := paths[w.Path]; taken {
			errs = append(errs, fmt.Errorf("webhooks %q and %q both have the path %s", other, name, w.Path))
		}
		paths[w.Path] = name
	}
	return errors.Join(errs...)
}

func (b *Builder) controllerNames() []string { return slices.Sorted(maps.Keys(b.controllers)) }

func (b *Builder) webhookNames() []string { return slices.Sorted(maps.Keys(b.webhooks)) }
