#include "bindings/python_stream.hpp"

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "arrow/metadata.hpp"

namespace nb = nanobind;

namespace dpdistinct {
namespace {

struct PythonStream {
    std::vector<FieldText> fields;
    nb::object next;
};

// Everything that a batch points to. Its destructor releases Python's buffers.
struct PythonBatch {
    explicit PythonBatch(std::size_t width) : buffers(width), arrays(width), children(width) {}
    ~PythonBatch() {
        for (Py_buffer& view : views) PyBuffer_Release(&view);
    }
    std::vector<Py_buffer> views;
    std::vector<std::vector<const void*>> buffers;
    std::vector<ArrowArray> arrays;
    std::vector<ArrowArray*> children;
    const void* validity = nullptr;
};

void release_column(ArrowArray* array) { array->release = nullptr; }

void release_batch(ArrowArray* array) {
    nb::gil_scoped_acquire gil;
    delete static_cast<PythonBatch*>(array->private_data);
    array->release = nullptr;
}

void read_column(PythonBatch& batch, std::size_t i, nb::tuple column) {
    const auto length = nb::cast<std::int64_t>(column[0]);
    for (std::size_t b = 1; b < column.size(); ++b) {
        const void* data = nullptr;
        if (!column[b].is_none()) {
            Py_buffer view;
            if (PyObject_GetBuffer(nb::object(column[b]).ptr(), &view, PyBUF_C_CONTIGUOUS) != 0)
                throw nb::python_error();
            batch.views.push_back(view);
            data = view.buf;
        }
        batch.buffers[i].push_back(data);
    }
    batch.arrays[i] = {length, -1, 0, std::ssize(batch.buffers[i]), 0, batch.buffers[i].data(),
                       nullptr, nullptr, release_column, nullptr};
    if (!batch.buffers[i].empty() && !batch.buffers[i][0]) batch.arrays[i].null_count = 0;
    batch.children[i] = &batch.arrays[i];
}

bool next_batch(PythonStream& stream, ArrowArray* out) {
    nb::object given = stream.next();
    if (given.is_none()) return false;
    const auto columns = nb::cast<nb::list>(given);
    if (columns.size() != stream.fields.size()) throw StreamFailed();
    auto batch = std::make_unique<PythonBatch>(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        read_column(*batch, i, nb::cast<nb::tuple>(columns[i]));
        if (batch->arrays[i].length != batch->arrays[0].length) throw StreamFailed();
    }
    *out = {batch->arrays.empty() ? 0 : batch->arrays[0].length, 0, 0, 1, std::ssize(batch->children),
            &batch->validity, batch->children.data(), nullptr, release_batch, batch.get()};
    batch.release();
    return true;
}

int get_next(ArrowArrayStream* self, ArrowArray* out) {
    out->release = nullptr;
    nb::gil_scoped_acquire gil;
    try {
        next_batch(*static_cast<PythonStream*>(self->private_data), out);
        return 0;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (...) {  // the text of a Python error may quote the data
        PyErr_Clear();
        return EIO;
    }
}

struct PythonSchema {
    std::vector<FieldText> fields;
    std::vector<ArrowSchema> columns;
    std::vector<ArrowSchema*> children;
};

void release_field(ArrowSchema* schema) { schema->release = nullptr; }

void release_schema(ArrowSchema* schema) {
    delete static_cast<PythonSchema*>(schema->private_data);
    schema->release = nullptr;
}

int get_schema(ArrowArrayStream* self, ArrowSchema* out) {
    constexpr std::int64_t kNullable = 2;
    auto* schema = new PythonSchema{static_cast<PythonStream*>(self->private_data)->fields, {}, {}};
    for (const FieldText& field : schema->fields)
        schema->columns.push_back({field.format.c_str(), field.name.c_str(), nullptr, kNullable, 0, nullptr, nullptr,
                                   release_field, nullptr});
    for (ArrowSchema& column : schema->columns) schema->children.push_back(&column);
    *out = {"+s", "", nullptr, 0, std::ssize(schema->children), schema->children.data(), nullptr, release_schema, schema};
    return 0;
}

void release_stream(ArrowArrayStream* self) {
    nb::gil_scoped_acquire gil;
    delete static_cast<PythonStream*>(self->private_data);
    self->release = nullptr;
}

}  // namespace

ArrowArrayStream python_stream(const std::vector<FieldText>& fields, nb::object next) {
    return {get_schema, get_next, [](ArrowArrayStream*) -> const char* { return nullptr; }, release_stream,
            new PythonStream{fields, std::move(next)}};
}

nb::list fields_of(ArrowArrayStream& stream) {
    Released<ArrowSchema> schema;
    if (stream.get_schema(&stream, &schema) != 0) throw StreamFailed();
    if (schema.format != std::string_view("+s")) throw WrongColumns();
    nb::list fields;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
        const ArrowSchema& field = *schema.children[i];
        const auto extension = metadata_of(field, "ARROW:extension:name");
        const auto detail = metadata_of(field, "ARROW:extension:metadata");
        fields.append(nb::make_tuple(field.name ? field.name : "", field.format,
                                     field.dictionary ? field.dictionary->format : "",
                                     nb::str(extension.data(), extension.size()),
                                     nb::bytes(detail.data(), detail.size())));
    }
    return fields;
}

}  // namespace dpdistinct
