// The Python module: a graph that Python cannot look into, and the kernels that turn it into histograms. They
// run without the GIL. python_text.hpp has what text files need of Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algorithms/basis.hpp"
#include "algorithms/greedy.hpp"
#include "algorithms/matching/balanced.hpp"
#include "algorithms/matching/base_loads.hpp"
#include "algorithms/one_group.hpp"
#include "algorithms/rounds.hpp"
#include "algorithms/sampling.hpp"
#include "arrow/arrow.hpp"
#include "bindings/python_stream.hpp"
#include "bindings/python_text.hpp"
#include "graph/build.hpp"
#include "keys/key_batch.hpp"
#include "keys/keys.hpp"
#include "text/text_stream.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dpdistinct {
namespace {

using Counts = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using Histogram = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

Interrupt python_interrupt() {
    return Interrupt([] {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
}

// The distinct positive values, increasing, and how often each occurs. Nearly all values are small.
Histogram histogram(const std::vector<std::uint32_t>& values) {
    constexpr std::uint32_t kSmall = 1 << 16;
    const std::uint32_t most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    std::vector<std::int64_t> small(std::min(most, kSmall - 1) + std::size_t{1}, 0);
    std::vector<std::uint32_t> large;
    for (std::uint32_t v : values)
        if (v < kSmall)
            ++small[v];
        else
            large.push_back(v);
    std::sort(large.begin(), large.end());
    Histogram result;
    auto append = [&result](std::int64_t value, std::int64_t count) {
        result.first.push_back(value);
        result.second.push_back(count);
    };
    for (std::uint32_t v = 1; v < small.size(); ++v)
        if (small[v] > 0) append(v, small[v]);
    for (auto first = large.begin(); first != large.end();) {
        auto last = std::upper_bound(first, large.end(), *first);
        append(*first, last - first);
        first = last;
    }
    return result;
}

Counts to_numpy(std::vector<std::int64_t> values) {
    auto* kept = new std::vector<std::int64_t>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
    return Counts(kept->data(), {kept->size()}, owner);
}

template <class Kernel>
std::pair<Counts, Counts> run(Kernel kernel) {
    Interrupt interrupt = python_interrupt();
    Histogram result;
    {
        nb::gil_scoped_release no_gil;
        result = histogram(kernel(interrupt));
    }
    return {to_numpy(std::move(result.first)), to_numpy(std::move(result.second))};
}

// Moves the stream out of a capsule from __arrow_c_stream__. A second use of the same capsule is an error,
// not an empty table.
ArrowArrayStream& open_stream(nb::handle capsule) {
    auto* given = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (!given) throw nb::python_error();
    if (!given->release) throw StreamFailed();  // read already
    return *given;
}

ArrowArrayStream stream_of(nb::handle capsule) {
    ArrowArrayStream& given = open_stream(capsule);
    const ArrowArrayStream stream = given;
    given.release = nullptr;
    return stream;
}

template <class T>
nb::capsule owning_capsule(const T& given, const char* name) {
    auto owned = std::make_unique<Released<T>>();
    static_cast<T&>(*owned) = given;
    return nb::capsule(owned.release(), name, [](void* p) noexcept { delete static_cast<Released<T>*>(p); });
}

// Reads a capsule to its end.
template <class OnPair, class OnSlice>
void read(nb::handle capsule, OnPair pair, OnSlice slice_done) {
    Released<ArrowArrayStream> stream;
    static_cast<ArrowArrayStream&>(stream) = stream_of(capsule);
    stopped_in_source() = nullptr;
    nb::gil_scoped_release no_gil;
    try {
        for_each_pair(stream, pair, slice_done);
    } catch (const StreamFailed&) {
        if (stopped_in_source()) std::rethrow_exception(std::exchange(stopped_in_source(), nullptr));
        throw;
    }
}

struct Builder {
    Builder(unsigned threads, std::size_t least_room) : builder(threads, interrupt, least_room) {}

    void add(nb::handle capsule) {
        read(
            capsule, [&](std::uint64_t person, std::uint64_t element) { builder.add(person, element); },
            [&](std::size_t rows) { rows > 0 ? builder.added(rows) : interrupt.check(); });
    }

    Graph graph(std::uint64_t max_index, int group_bits) {
        nb::gil_scoped_release no_gil;
        return builder.finish(max_index, group_bits);
    }

    Interrupt interrupt = python_interrupt();
    GraphBuilder builder;
};

void add_stream(SortedGreedy& greedy, nb::handle capsule) {
    Interrupt interrupt = python_interrupt();
    read(
        capsule, [&](std::uint64_t person, std::uint64_t element) { greedy.add(person, element); },
        [&](std::size_t rows) { rows > 0 ? interrupt.worked(rows) : interrupt.check(); });
}

void add_bases(BaseLoads& bases, nb::handle capsule) {
    Interrupt interrupt = python_interrupt();
    read(
        capsule,  // a number is no key: where it came signed, its top bit says so
        [&](std::uint64_t person, std::uint64_t number) { bases.add(person, number & ~(std::uint64_t{1} << 63)); },
        [&](std::size_t rows) { rows > 0 ? interrupt.worked(rows) : interrupt.check(); });
}

std::array<Counts, 3> to_table(const RoundCounts& counts) {
    RoundTable table = counts.table();
    return {to_numpy(std::move(table.group)), to_numpy(std::move(table.bucket)), to_numpy(std::move(table.count))};
}

std::array<Counts, 3> rounds_of_greedy(const Graph& graph, std::size_t groups, std::vector<std::uint32_t> bounds,
                                       std::size_t few_groups) {
    Interrupt interrupt = python_interrupt();
    RoundCounts counts(groups, std::move(bounds), few_groups);
    {
        nb::gil_scoped_release no_gil;
        greedy_rounds(graph, counts, interrupt);
    }
    return to_table(counts);
}

std::array<Counts, 3> rounds_of_sorted(SortedGreedy& greedy) {
    if (!greedy.counts()) throw std::invalid_argument("this stream was read without groups");
    greedy.finish();
    return to_table(*greedy.counts());
}

Counts basis_of(const Graph& graph, std::uint32_t bound, std::size_t groups, std::uint64_t first_search) {
    Interrupt interrupt = python_interrupt();
    std::vector<std::int64_t> kept;
    {
        nb::gil_scoped_release no_gil;
        kept = first_basis(graph, bound, groups, interrupt, first_search);
    }
    return to_numpy(std::move(kept));
}

// Labels as rows write them: each column is a text, or a day as Arrow counts it.
std::vector<Label> written_labels(nb::handle labels) {
    std::vector<Label> result;
    for (nb::handle label : labels) {
        Label& written = result.emplace_back();
        for (nb::handle part : label) {
            if (nb::isinstance<nb::str>(part)) {
                written.push_back(nb::cast<std::string>(part));
            } else {
                const auto day = nb::cast<std::int32_t>(part);
                written.emplace_back(reinterpret_cast<const char*>(&day), sizeof day);
            }
        }
    }
    return result;
}

std::array<Counts, 3> balanced_loads_by_group(const Graph& graph, unsigned threads) {
    Interrupt interrupt = python_interrupt();
    GroupLoads found;
    {
        nb::gil_scoped_release no_gil;
        found = loads_by_group(graph, balanced_loads(graph, threads, interrupt), interrupt);
    }
    return {to_numpy(std::move(found.group)), to_numpy(std::move(found.load)), to_numpy(std::move(found.people))};
}

}  // namespace

NB_MODULE(_core, m) {
    m.attr("MAX_INDEX") = kMaxIndex;
    m.attr("FAILED") = kFailed;
    nb::class_<Graph>(m, "Graph")
        .def_prop_ro("people", [](const Graph& g) { return g.people; })
        .def_prop_ro("elements", &Graph::elements)
        .def_prop_ro("pairs", &Graph::pairs);
    m.def(
        "key_stream",
        [](nb::handle values, const std::vector<int>& people, const std::vector<int>& elements,
           const std::vector<int>& groups, const std::vector<Label>& labels, int bits, nb::handle written, bool utf8,
           unsigned threads) {
            GroupKeys by{groups, GroupNumbers(labels, bits, written_labels(written))};
            return owning_capsule(keys_of(stream_of(values), people, elements, std::move(by), utf8, threads),
                                  "arrow_array_stream");
        },
        "values"_a.none(), "people"_a, "elements"_a, "groups"_a = std::vector<int>(), "labels"_a = std::vector<Label>(),
        "bits"_a = 0, "written"_a = nb::make_tuple(), "utf8"_a = false, "threads"_a = 1);
    m.def("label_key", &label_key, "label"_a);
    m.def(
        "python_stream",
        [](const std::vector<std::pair<std::string, std::string>>& fields, nb::object next) {
            std::vector<SchemaField> columns;
            for (const auto& [name, format] : fields) columns.push_back({name, format});
            return owning_capsule(python_stream(std::move(columns), std::move(next)), "arrow_array_stream");
        },
        "fields"_a, "next"_a);
    m.def(
        "schema_fields",
        [](nb::handle capsule) {
            const auto* schema = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_schema"));
            if (!schema) throw nb::python_error();
            if (!schema->release) throw StreamFailed();  // moved out already
            return fields_of(*schema);
        },
        "schema"_a.none());
    m.def(
        "stream_schema",
        [](nb::handle capsule) {
            ArrowArrayStream& stream = open_stream(capsule);
            ArrowSchema schema{};
            if (stream.get_schema(&stream, &schema) != 0) throw StreamFailed();
            return owning_capsule(schema, "arrow_schema");
        },
        "stream"_a.none());
    m.def("key_of_nothing", &salt_hash, "side"_a);
    m.def(
        "add_column",
        [](nb::handle capsule, nb::ndarray<std::uint64_t, nb::ndim<1>, nb::c_contig> keys,
           nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig> complete) {
            Released<ArrowArrayStream> stream;
            static_cast<ArrowArrayStream&>(stream) = stream_of(capsule);
            nb::gil_scoped_release no_gil;
            add_column(stream, {keys.data(), keys.size()}, {complete.data(), complete.size()});
        },
        "column"_a.none(), "keys"_a, "complete"_a);
    m.attr("LONGEST_ROW") = kLongestRow;
    m.attr("FIELD_COUNT") = kFieldCount;
    nb::class_<LeftOut>(m, "LeftOut")
        .def(nb::init<>())
        .def_prop_ro("empty", [](const LeftOut& rows) { return rows.empty.load(); })
        .def_prop_ro("comments", [](const LeftOut& rows) { return rows.comments.load(); })
        .def_prop_ro("too_long", [](const LeftOut& rows) { return rows.too_long.load(); })
        .def_prop_ro("open_quotes", [](const LeftOut& rows) { return rows.open_quotes.load(); })
        .def_prop_ro("unclear", [](const LeftOut& rows) { return rows.unclear.load(); })
        .def_prop_ro("no_objects", [](const LeftOut& rows) { return rows.no_objects.load(); });
    m.def(
        "text_values",
        [](nb::handle sources, nb::handle layout, nb::handle columns, unsigned threads, std::size_t block,
           std::size_t longest_row, std::shared_ptr<LeftOut> left_out) {
            TextArguments given(sources, layout, {columns}, threads, block, longest_row);
            given.query.left_out = std::move(left_out);
            return owning_capsule(text_values(std::move(given.sources), std::move(given.query)), "arrow_array_stream");
        },
        "sources"_a, "layout"_a.none(), "columns"_a, "threads"_a, "block"_a = kBlock, "longest_row"_a = kLongestRow,
        "left_out"_a.none() = nb::none());
    m.def(
        "text_keys",
        [](nb::handle sources, nb::handle layout, nb::handle people, nb::handle elements, unsigned threads,
           std::size_t block, std::size_t longest_row, nb::handle groups, const std::vector<int>& every,
           const std::vector<Label>& labels, int bits) {
            TextArguments given(sources, layout, {people, groups, elements}, threads, block, longest_row);
            if (every.size() != nb::len(groups) || bits < 0 || bits > 32) throw std::invalid_argument("groups wrong");
            TextGroups by{{}, GroupNumbers(labels, bits)};
            for (int rule : every) {
                if (rule < 0 || rule > static_cast<int>(Every::kYear)) throw std::invalid_argument("every wrong");
                by.every.push_back(static_cast<Every>(rule));
            }
            return owning_capsule(
                text_keys(std::move(given.sources), std::move(given.query), nb::len(people), std::move(by)),
                "arrow_array_stream");
        },
        "sources"_a, "layout"_a.none(), "people"_a, "elements"_a, "threads"_a, "block"_a = kBlock,
        "longest_row"_a = kLongestRow, "groups"_a = nb::make_tuple(), "every"_a = std::vector<int>(),
        "labels"_a = std::vector<Label>(), "bits"_a = 0);
    m.def("key_schema", [] { return owning_capsule(key_schema(), "arrow_schema"); });
    nb::class_<Builder>(m, "GraphBuilder")
        .def(nb::init<unsigned, std::size_t>(), "threads"_a, "least_room"_a = kLeastRoom)
        .def("add", &Builder::add, "stream"_a.none())
        .def("graph", &Builder::graph, "max_index"_a = kMaxIndex, "group_bits"_a = 0);
    m.def(
        "balanced_loads",
        [](const Graph& g, unsigned threads, std::uint64_t first_trees, std::uint64_t patience) {
            return run([&](Interrupt& i) { return balanced_loads(g, threads, i, first_trees, patience); });
        },
        "graph"_a, "threads"_a, "first_trees"_a = kFirstTrees, "patience"_a = kPatience);
    nb::class_<BaseLoads>(m, "BaseLoads")
        .def(nb::init<const Graph&>(), "graph"_a, nb::keep_alive<1, 2>())
        .def("add", &add_bases, "stream"_a.none())
        .def(
            "balanced_loads",
            [](const BaseLoads& bases, unsigned threads) {
                return run([&](Interrupt& i) { return bases.balanced_loads(threads, i); });
            },
            "threads"_a);
    m.def(
        "greedy_loads", [](const Graph& g) { return run([&](Interrupt& i) { return greedy_loads(g, i); }); },
        "graph"_a);
    nb::class_<SortedGreedy>(m, "SortedGreedy")
        .def(nb::init<>())
        .def(
            "__init__",
            [](SortedGreedy* self, int group_bits, std::size_t groups, std::vector<std::uint32_t> bounds) {
                new (self) SortedGreedy(group_bits, RoundCounts(groups, std::move(bounds)));
            },
            "group_bits"_a, "groups"_a, "bounds"_a)
        .def("add", &add_stream, "stream"_a.none())
        .def("rounds", &rounds_of_sorted)
        .def("loads", [](SortedGreedy& greedy) { return run([&](Interrupt&) { return greedy.finish(); }); });
    m.def(
        "best_ranks",
        [](const Graph& g, std::array<std::uint64_t, 4> secret) {
            return run([&](Interrupt& i) { return best_ranks(g, secret, i); });
        },
        "graph"_a, "secret"_a);
    m.def("greedy_rounds", &rounds_of_greedy, "graph"_a, "groups"_a, "bounds"_a,
          "few_groups"_a = RoundCounts::kFewGroups);
    m.def("first_basis", &basis_of, "graph"_a, "bound"_a, "groups"_a, "first_search"_a = kFirstSearch);
    m.def(
        "one_group_per_person",
        [](const Graph& graph) {
            Interrupt interrupt = python_interrupt();
            nb::gil_scoped_release no_gil;
            return one_group_per_person(graph, interrupt);
        },
        "graph"_a);
    m.def("balanced_loads_by_group", &balanced_loads_by_group, "graph"_a, "threads"_a);
}

}  // namespace dpdistinct
