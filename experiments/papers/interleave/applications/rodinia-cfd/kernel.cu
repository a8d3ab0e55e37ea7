// What flows into the cells of an unstructured mesh through some of their four faces, after the kernel `compute_flux` of Rodinia's CFD
// solver: Euler's equations in three dimensions, with artificial viscosity. A face has a neighbour, whose number is this cell's and a
// distance; without one it is a wall. Each variable lies as an array of its own; meshes of the same size lie one behind another, one
// for each block index in z.
#include "../../../../applications/cuda.h"

#define FACES 4
#define VARIABLES 5
#define GAMMA 1.4f
#define SMOOTHING 0.2f

extern "C" __global__ void flux(const int *distances, const float *normals, const float *variables, float *fluxes, int cells,
                                int faces) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    distances += blockIdx.z * FACES * cells;
    normals += blockIdx.z * 3 * FACES * cells;
    variables += blockIdx.z * VARIABLES * cells;
    fluxes += blockIdx.z * VARIABLES * cells;

    const float density = variables[i];
    const float mx = variables[i + cells];
    const float my = variables[i + 2 * cells];
    const float mz = variables[i + 3 * cells];
    const float energy = variables[i + 4 * cells];
    const float vx = mx / density;
    const float vy = my / density;
    const float vz = mz / density;
    const float square = vx * vx + vy * vy + vz * vz;
    const float pressure = (GAMMA - 1.0f) * (energy - 0.5f * density * square);
    const float sound = sqrtf(GAMMA * pressure / density);

    float density_flux = 0.0f;
    float mx_flux = 0.0f;
    float my_flux = 0.0f;
    float mz_flux = 0.0f;
    float energy_flux = 0.0f;
#pragma unroll 1
    for (int face = 0; face < faces; face++) {
        const int neighbour = i + distances[i + face * cells];
        const float nx = normals[i + 3 * face * cells];
        const float ny = normals[i + (3 * face + 1) * cells];
        const float nz = normals[i + (3 * face + 2) * cells];
        if (neighbour >= 0 && neighbour < cells) {
            const float other_density = variables[neighbour];
            const float other_mx = variables[neighbour + cells];
            const float other_my = variables[neighbour + 2 * cells];
            const float other_mz = variables[neighbour + 3 * cells];
            const float other_energy = variables[neighbour + 4 * cells];
            const float other_vx = other_mx / other_density;
            const float other_vy = other_my / other_density;
            const float other_vz = other_mz / other_density;
            const float other_square = other_vx * other_vx + other_vy * other_vy + other_vz * other_vz;
            const float other_pressure = (GAMMA - 1.0f) * (other_energy - 0.5f * other_density * other_square);
            const float other_sound = sqrtf(GAMMA * other_pressure / other_density);

            const float area = sqrtf(nx * nx + ny * ny + nz * nz);
            const float speed = sqrtf(square) + sqrtf(other_square) + sound + other_sound;
            const float viscosity = -0.5f * SMOOTHING * area * speed;
            density_flux += viscosity * (density - other_density);
            energy_flux += viscosity * (energy - other_energy);
            mx_flux += viscosity * (mx - other_mx);
            my_flux += viscosity * (my - other_my);
            mz_flux += viscosity * (mz - other_mz);

            // Half of what flows here and half of what flows there, by direction.
            const float x = 0.5f * nx;
            density_flux += x * (mx + other_mx);
            energy_flux += x * (vx * (energy + pressure) + other_vx * (other_energy + other_pressure));
            mx_flux += x * (vx * mx + pressure + other_vx * other_mx + other_pressure);
            my_flux += x * (vx * my + other_vx * other_my);
            mz_flux += x * (vx * mz + other_vx * other_mz);
            const float y = 0.5f * ny;
            density_flux += y * (my + other_my);
            energy_flux += y * (vy * (energy + pressure) + other_vy * (other_energy + other_pressure));
            mx_flux += y * (vy * mx + other_vy * other_mx);
            my_flux += y * (vy * my + pressure + other_vy * other_my + other_pressure);
            mz_flux += y * (vy * mz + other_vy * other_mz);
            const float z = 0.5f * nz;
            density_flux += z * (mz + other_mz);
            energy_flux += z * (vz * (energy + pressure) + other_vz * (other_energy + other_pressure));
            mx_flux += z * (vz * mx + other_vz * other_mx);
            my_flux += z * (vz * my + other_vz * other_my);
            mz_flux += z * (vz * mz + pressure + other_vz * other_mz + other_pressure);
        } else {
            mx_flux += nx * pressure;
            my_flux += ny * pressure;
            mz_flux += nz * pressure;
        }
    }
    fluxes[i] = density_flux;
    fluxes[i + cells] = mx_flux;
    fluxes[i + 2 * cells] = my_flux;
    fluxes[i + 3 * cells] = mz_flux;
    fluxes[i + 4 * cells] = energy_flux;
}
