package settings

import (
	"io/fs"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Settings are the effective settings of a server. They do not change while it
// runs.
type Settings struct {
	GRPC    GRPC
	HTTP    Addr // /json and the health endpoints
	Debug   Addr // the admin API, /rlconfig, pprof
	Admin   Admin
	Metrics Metrics
	Log     Log
	Rules   Rules
	Store   Store
	Answer  Answer
	Life    Life
	Tracing Tracing
	TLS     ServerTLS
}

// GRPC is the listener of the rate limit service.
type GRPC struct {
	Addr
	UDS                   string        // path of a unix socket; takes the place of Addr
	UDSMode               fs.FileMode   // of that socket; 0 = what the umask leaves
	MaxConnectionAge      time.Duration // 0 = for ever
	MaxConnectionAgeGrace time.Duration
}

// ServerTLS says which listeners speak TLS, and with what.
type ServerTLS struct {
	GRPC, HTTP        bool
	CertFile, KeyFile string
	ClientCAFile      string // "" = gRPC clients need no certificate
	ClientSAN         string // "" = any name
}

// Addr is where a TCP listener opens.
type Addr struct {
	Host string // "" = all addresses, IPv4 and IPv6
	Port int    // 0 = any free port
}

// String is host:port, with an IPv6 address in brackets.
func (a Addr) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// Admin says what the debug port asks for, and what it may do.
type Admin struct {
	Token   string // "" = none
	Changes bool
	Values  Values
}

// Values says how values of descriptors are shown.
type Values string

const (
	ValuesShown  Values = "shown"
	ValuesHashed Values = "hashed"
	ValuesHidden Values = "hidden"
)

// Metrics says where Prometheus finds the metrics.
type Metrics struct {
	Addr   string // host:port
	Path   string
	Compat bool // also envoyproxy/ratelimit's names
}

// Log says what is logged and how.
type Log struct {
	Level  slog.Level
	Format string // text or json
}

// Profile says whose answers the server gives where the two differ.
type Profile string

const (
	Native    Profile = "native"
	Ratelimit Profile = "ratelimit" // as envoyproxy/ratelimit
)

// Rules says where rules come from and what they mean where they say nothing.
type Rules struct {
	// Paths are the files and folders to read, after the search that RULES
	// describes. At least one; over xDS there may be none.
	Paths        []string
	FromXDS      bool // rules come over xDS, and files give their defaults
	XDS          XDS
	Strict       bool // any error keeps the whole set from loading
	StartWithout bool // ready before any rules are there
	Algorithm    buckets.Algorithm
	OnStoreError descriptors.StorePolicy
	Profile      Profile
	DeniedFree   bool // denied calls charge nothing, unless a limit says so

	configType string
	explicit   []string // RULES
	runtime    runtimeDirs
}

type runtimeDirs struct{ root, subdirectory, appDirectory string }

// Answer says what an answer carries beside the decision.
type Answer struct {
	Headers         []string // of ratelimit, x-ratelimit, rule
	LimitHeader     string   // names of the three of ratelimit
	RemainingHeader string
	ResetHeader     string
	DynamicMetadata bool
	Shadow          bool // every limit is a shadow limit
	Quota           bool // every limit is a quota limit
	NearLimitRatio  float64

	headersEnabled bool
}

// Life says how long things may take at the end.
type Life struct {
	DrainDelay      time.Duration
	ShutdownTimeout time.Duration // the whole of it, the drain included
	// NeedStore ends readiness while the store does not answer.
	NeedStore bool
}

// Tracing says whether calls are traced and where spans go.
type Tracing struct {
	Enabled  bool
	Endpoint string // URL; "" = as OpenTelemetry's variables say
	Protocol OTLPProtocol

	ServiceName      string
	ServiceNamespace string
	ServiceInstance  string // "" = a random one
	SamplingRate     float64
}

// OTLPProtocol is what carries OTLP: gRPC, or else HTTP.
type OTLPProtocol string

const (
	ProtocolHTTP OTLPProtocol = "http"
	ProtocolGRPC OTLPProtocol = "grpc"
)
