#include "bindings/python_stream.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "arrow/arrow_stream.hpp"
#include "arrow/metadata.hpp"

namespace nb = nanobind;

namespace dpdistinct {
namespace {

// The memory of Python's objects that a batch points to.
struct Views {
    ~Views() {
        for (Py_buffer& view : views) PyBuffer_Release(&view);
    }
    std::vector<Py_buffer> views;
};

ColumnBuffers read_column(Views& kept, nb::tuple column) {
    ColumnBuffers result{};
    result.count = static_cast<int>(column.size()) - 1;
    if (result.count > std::ssize(result.buffers)) throw StreamFailed();
    for (int b = 0; b < result.count; ++b) {
        const nb::object given = column[b + 1];
        if (given.is_none()) continue;
        Py_buffer view;
        if (PyObject_GetBuffer(given.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
        kept.views.push_back(view);
        result.buffers[static_cast<std::size_t>(b)] = view.buf;
    }
    result.nulls = result.count > 0 && result.buffers[0] ? -1 : 0;  // -1: not counted
    return result;
}

struct PythonStream {
    ~PythonStream() {
        nb::gil_scoped_acquire gil;
        next_.reset();
    }

    ArrowSchema schema() const { return table_schema(fields_); }

    void next(ArrowArray* out) {
        nb::gil_scoped_acquire gil;
        try {
            read(out);
        } catch (const std::bad_alloc&) {
            throw;
        } catch (...) {  // what Python raised may quote the data, and goes while we may still touch it
            PyErr_Clear();
            throw StreamFailed();
        }
    }

    void read(ArrowArray* out) const {
        const nb::object given = next_();
        if (given.is_none()) return;
        const auto columns = nb::cast<nb::list>(given);
        if (columns.size() != fields_.size()) throw StreamFailed();
        const std::shared_ptr<Views> kept(new Views, [](Views* views) {
            nb::gil_scoped_acquire gil;
            delete views;
        });
        std::vector<ColumnBuffers> buffers;
        std::size_t rows = 0;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const auto column = nb::cast<nb::tuple>(columns[i]);
            const auto length = nb::cast<std::size_t>(column[0]);
            if (i > 0 && length != rows) throw StreamFailed();
            rows = length;
            buffers.push_back(read_column(*kept, column));
        }
        *out = table_batch(rows, buffers, kept);
    }

    std::vector<SchemaField> fields_;
    nb::object next_;
};

}  // namespace

ArrowArrayStream python_stream(std::vector<SchemaField> fields, nb::object next) {
    return arrow_stream(std::unique_ptr<PythonStream>(new PythonStream{std::move(fields), std::move(next)}));
}

nb::list fields_of(const ArrowSchema& schema) {
    if (schema.format != std::string_view("+s")) throw WrongColumns();
    nb::list fields;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
        const ArrowSchema& field = *schema.children[i];
        const auto extension = metadata_of(field, "ARROW:extension:name");
        const auto detail = metadata_of(field, "ARROW:extension:metadata");
        fields.append(
            nb::make_tuple(field.name ? field.name : "", field.format, field.dictionary ? field.dictionary->format : "",
                           nb::str(extension.data(), extension.size()), nb::bytes(detail.data(), detail.size())));
    }
    return fields;
}

}  // namespace dpdistinct
